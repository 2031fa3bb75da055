SELECT claim_type, COUNT(*) AS claims, SUM(paid) AS total_paid, AVG(paid) AS avg_paid
FROM claims
WHERE status = 'paid'
GROUP BY claim_type
ORDER BY total_paid DESC;

SELECT SUM(paid) / COUNT(DISTINCT member_id) AS cost_per_claimant FROM claims WHERE service_date >= '2023-01-01';

SELECT m.plan, SUM(c.paid) / SUM(c.billed) AS paid_to_billed
FROM claims c INNER JOIN members m ON c.member_id = m.member_id
GROUP BY m.plan;

SELECT YEAR(service_date) AS yr, DATEPART(quarter, service_date) AS qtr, SUM(allowed) AS allowed
FROM claims
GROUP BY YEAR(service_date), DATEPART(quarter, service_date);

SELECT AVG(DATEDIFF(day, service_date, paid_date)) AS avg_days_to_pay
FROM claims
WHERE paid_date IS NOT NULL AND claim_type = 'inpatient';

WITH yearly AS (
    SELECT member_id, SUM(paid) AS paid_year
    FROM claims
    WHERE service_date BETWEEN '2023-01-01' AND '2023-12-31'
    GROUP BY member_id
)
SELECT CASE WHEN paid_year > 50000 THEN 'catastrophic'
            WHEN paid_year > 10000 THEN 'high'
            WHEN paid_year > 1000 THEN 'medium'
            ELSE 'low' END AS bucket,
       COUNT(*) AS members,
       SUM(paid_year) AS paid
FROM yearly
GROUP BY 1;

SELECT m.state, COUNT(DISTINCT CASE WHEN c.claim_type = 'er' THEN c.member_id END) * 1000.0 / COUNT(DISTINCT m.member_id) AS er_per_1000
FROM members m
LEFT JOIN claims c ON c.member_id = m.member_id
GROUP BY m.state;

SELECT IFF(DATEDIFF('year', m.birth_date, CURRENT_DATE) >= 65, 'senior', 'other') AS grp, SUM(c.paid) AS paid
FROM members m JOIN claims c ON m.member_id = c.member_id
GROUP BY grp;

SELECT gender, FLOOR((2024 - EXTRACT(YEAR FROM birth_date)) / 10) * 10 AS decade, COUNT(*) AS members
FROM members
GROUP BY gender, decade;

SELECT p.tier, COUNT(*) AS members, SUM(p.premium) AS premium_income
FROM members m JOIN plans p ON m.plan = p.plan
GROUP BY p.tier;

WITH claims_by_member AS (
    SELECT m.member_id, m.plan, COALESCE(SUM(c.paid), 0) AS total
    FROM members m
    LEFT JOIN claims c ON c.member_id = m.member_id AND c.service_date >= '2023-01-01'
    GROUP BY m.member_id, m.plan
)
SELECT plan, AVG(total) AS pmpy, MEDIAN(total) AS median_cost
FROM claims_by_member
GROUP BY plan;

SELECT status, COUNT(*) AS n, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM claims) AS pct
FROM claims
GROUP BY status;

SELECT LEFT(diagnosis_code, 1) AS chapter, COUNT(*) AS n, SUM(paid) AS paid
FROM claims
GROUP BY LEFT(diagnosis_code, 1)
HAVING SUM(paid) > 100000
ORDER BY paid DESC
LIMIT 10;

SELECT member_id, SUM(paid) AS total_paid
FROM claims
GROUP BY member_id
ORDER BY total_paid DESC
LIMIT 20;

SELECT COUNT(*) AS denied_then_paid
FROM members m
WHERE EXISTS (SELECT 1 FROM claims c WHERE c.member_id = m.member_id AND c.status = 'denied')
  AND EXISTS (SELECT 1 FROM claims c WHERE c.member_id = m.member_id AND c.status = 'paid');

SELECT 'inpatient' AS kind, SUM(paid) AS paid FROM claims WHERE claim_type = 'inpatient'
UNION ALL
SELECT 'outpatient' AS kind, SUM(paid) AS paid FROM claims WHERE claim_type = 'outpatient';

SELECT DATE_TRUNC('quarter', service_date) AS quarter,
       SUM(CASE WHEN claim_type = 'pharmacy' THEN paid ELSE 0 END) AS rx,
       SUM(CASE WHEN claim_type <> 'pharmacy' THEN paid ELSE 0 END) AS medical
FROM claims
GROUP BY DATE_TRUNC('quarter', service_date)
ORDER BY quarter;

SELECT APPROX_COUNT_DISTINCT(member_id) AS active_members
FROM claims
WHERE service_date > DATEADD(month, -12, '2024-06-30');

SELECT AVG(gap) AS avg_gap_days
FROM (SELECT member_id, DATEDIFF('day', LAG(service_date) OVER (PARTITION BY member_id ORDER BY service_date), service_date) AS gap FROM claims) g
WHERE gap IS NOT NULL;

SELECT VAR_SAMP(paid) / POWER(AVG(paid), 2) AS cv_squared FROM claims WHERE paid > 0;

SELECT m.state,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY c.billed) AS p95_billed
FROM claims c JOIN members m ON m.member_id = c.member_id
GROUP BY m.state;

SELECT plan, COUNT(*) AS enrolled,
       SUM(CASE WHEN joined >= DATE '2023-01-01' THEN 1 ELSE 0 END) AS new_members,
       ROUND(SUM(CASE WHEN joined >= DATE '2023-01-01' THEN 1 ELSE 0 END) / CAST(COUNT(*) AS FLOAT), 3) AS new_share
FROM members
GROUP BY plan;

SELECT NTILE(10) OVER (ORDER BY SUM(paid)) AS decile, member_id FROM claims GROUP BY member_id;

SELECT COUNT_IF(diagnosis_code ILIKE 'e11%') AS diabetes_claims, COUNT_IF(diagnosis_code ILIKE 'i10%') AS hypertension_claims FROM claims;

SELECT SUM(paid) FROM claims c JOIN members m ON m.member_id = c.member_id
WHERE m.gender = 'F' AND c.status NOT IN ('denied', 'pending') AND NOT (c.paid < 0 OR c.billed IS NULL);

SELECT TO_CHAR(service_date, 'YYYY') AS yr, ROUND(SUM(paid) / 1000000, 2) AS paid_millions
FROM claims
GROUP BY yr;
