hospital: SELECT department,
       COUNT(DISTINCT patient_id) AS patients,
       COUNT(DISTINCT patient_id) FILTER (WHERE admission_type = 'emergency') AS emergency_patients
FROM admissions
GROUP BY department;
hospital: SELECT COUNT(DISTINCT CASE WHEN admission_type = 'elective' THEN patient_id END) AS elective_patients,
       COUNT(DISTINCT patient_id) AS all_patients
FROM admissions;
hospital: SELECT COUNT(DISTINCT admission_id) AS stays FROM admissions WHERE discharged_at IS NOT NULL;
hospital: SELECT department, 100.0 * AVG(CASE WHEN died THEN 1 ELSE 0 END) AS mortality_pct
FROM admissions GROUP BY 1 ORDER BY 2 DESC;
hospital: -- length of stay by department
SELECT department, AVG(EXTRACT(EPOCH FROM discharged_at - admitted_at) / 86400.0) AS los_days
FROM admissions
WHERE discharged_at IS NOT NULL
GROUP BY department;
hospital: SELECT TO_CHAR(admitted_at, 'YYYY-MM') AS month, COUNT(*) AS n FROM admissions GROUP BY month ORDER BY month;
hospital: SELECT EXTRACT(HOUR FROM admitted_at)::int AS hr, COUNT(*) FROM admissions WHERE department = 'surgery' GROUP BY hr ORDER BY hr;
hospital: SELECT p.sex, COUNT(DISTINCT a.admission_id) AS stays, COUNT(DISTINCT p.patient_id) AS people
FROM patients p LEFT JOIN admissions a ON a.patient_id = p.patient_id
GROUP BY p.sex;
hospital: SELECT COUNT(*) FROM patients p
WHERE (SELECT COUNT(*) FROM admissions a WHERE a.patient_id = p.patient_id) >= 2;
hospital: SELECT AVG(los) AS mean_los, STDDEV_SAMP(los) AS sd_los, VAR_POP(los) AS var_los
FROM (SELECT admission_id, DATEDIFF('day', admitted_at, discharged_at) AS los FROM admissions WHERE discharged_at >= admitted_at) s
WHERE los BETWEEN 0 AND 60;
hospital: WITH stays AS (
  SELECT patient_id, admitted_at, LAG(discharged_at) OVER (PARTITION BY patient_id ORDER BY admitted_at) AS prev_discharge
  FROM admissions
), flagged AS (
  SELECT patient_id, CASE WHEN admitted_at <= prev_discharge + INTERVAL '30 days' THEN 1 ELSE 0 END AS readmit
  FROM stays
)
SELECT SUM(readmit) AS readmissions, COUNT(*) AS stays, SUM(readmit) * 1.0 / COUNT(*) AS rate FROM flagged;
hospital: SELECT test, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY value) AS med, COUNT(DISTINCT admission_id) AS stays_tested
FROM labs GROUP BY test;
hospital: SELECT COALESCE(insurance_type, 'none') AS insurance, COUNT(*) AS n,
       ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct
FROM patients GROUP BY COALESCE(insurance_type, 'none');
hospital: SELECT BOOL_OR(died) AS any_death FROM admissions WHERE department = 'maternity';
hospital: SELECT AVG(ever_died::int) FROM (
  SELECT patient_id, BOOL_OR(died) AS ever_died FROM admissions GROUP BY patient_id
) t;
hospital: SELECT COUNT(*) FROM public.patients WHERE "sex" = 'f' AND birth_date < '1960-01-01';
hospital: SELECT d.building, SUM(a.total_charge) AS charges, COUNT(*) AS stays, SUM(a.total_charge)::numeric / NULLIF(COUNT(*), 0) AS per_stay
FROM admissions a JOIN departments d USING (department)
GROUP BY d.building;
hospital: SELECT patient_id, COUNT(*) AS n FROM admissions GROUP BY patient_id HAVING COUNT(*) > 5 ORDER BY n DESC;
hospital: SELECT COUNT(*) AS high_creatinine
FROM labs l JOIN admissions a ON a.admission_id = l.admission_id
WHERE l.test = 'creatinine' AND l.value > 1.3 AND a.admission_type NOT IN ('elective', 'urgent');
hospital: SELECT 'all' AS grp, COUNT(*) AS n FROM patients
UNION ALL
SELECT 'women', COUNT(*) FROM patients WHERE sex = 'f';
bank: SELECT a.kind, COUNT(DISTINCT a.client_id) AS clients, AVG(a.balance) AS mean_balance
FROM accounts a GROUP BY a.kind;
bank: SELECT COUNT(DISTINCT client_id) FILTER (WHERE balance < 0) * 1.0 / COUNT(DISTINCT client_id) AS overdrawn_share FROM accounts;
bank: SELECT WIDTH_BUCKET(income, 0, 200000, 8) AS bucket, COUNT(*) AS n FROM clients GROUP BY bucket ORDER BY bucket;
bank: SELECT FLOOR(balance / 1000) * 1000 AS band, COUNT(*) AS n FROM accounts WHERE balance BETWEEN 0 AND 20000 GROUP BY FLOOR(balance / 1000) * 1000;
bank: SELECT CORR(income, age) AS r, REGR_SLOPE(income, age) AS slope, REGR_R2(income, age) AS r2, REGR_COUNT(income, age) AS n FROM clients;
bank: SELECT strftime(booked, '%Y') AS yr, SUM(amount) AS total, SUM(GREATEST(amount, 0)) AS credits, SUM(LEAST(amount, 0)) AS debits
FROM transactions GROUP BY yr;
bank: SELECT t.channel, COUNT(*) AS n, SUM(t.amount) FILTER (WHERE t.amount > 0) AS paid_in
FROM transactions t
JOIN accounts a ON a.account_id = t.account_id
JOIN clients c ON c.client_id = a.client_id
WHERE c.segment = 'retail'
GROUP BY t.channel
HAVING COUNT(*) > 10
ORDER BY n DESC
LIMIT 5;
bank: SELECT COUNT(*) FROM clients c
WHERE EXISTS (SELECT 1 FROM accounts a WHERE a.client_id = c.client_id AND a.kind = 'savings')
  AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.client_id = c.client_id AND a.kind = 'credit');
bank: SELECT segment, AVG(NVL(income, 0)) AS inc, AVG(DECODE(segment, 'private', 1, 0)) AS is_private FROM clients GROUP BY segment;
bank: SELECT IIF(age >= 65, 'senior', 'other') AS grp, AVG(ISNULL(income, 0)) AS income FROM clients GROUP BY IIF(age >= 65, 'senior', 'other');
bank: WITH active AS (
  SELECT a.client_id, COUNT(*) AS n_tx
  FROM accounts a JOIN transactions t ON t.account_id = a.account_id
  WHERE t.booked >= DATE '2024-01-01'
  GROUP BY a.client_id
  HAVING COUNT(*) >= 3
)
SELECT c.segment, COUNT(*) AS active_clients
FROM clients c JOIN active ON active.client_id = c.client_id
GROUP BY c.segment;
bank: SELECT c.segment, COUNT(DISTINCT c.client_id) AS clients, COUNT(DISTINCT a.account_id) AS accounts,
       COUNT(DISTINCT a.account_id) * 1.0 / COUNT(DISTINCT c.client_id) AS accounts_per_client
FROM clients c LEFT JOIN accounts a ON a.client_id = c.client_id
GROUP BY c.segment;
bank: SELECT COUNT(*) FROM transactions WHERE description LIKE ANY ('%ATM%', '%CASH%');
bank: SELECT NTILE(10) OVER (ORDER BY income) AS decile, AVG(income) FROM clients GROUP BY 1;
bank: SELECT AVG(total_balance) FROM (
  SELECT client_id, SUM(balance) AS total_balance FROM accounts GROUP BY client_id
) x WHERE total_balance BETWEEN -10000 AND 250000;
bank: SELECT APPROX_COUNT_DISTINCT(client_id) AS clients, MEDIAN(balance) AS med FROM accounts WHERE opened >= '2020-01-01';
bank: SELECT "kind" AS "Account kind", COUNT(*) AS "Number" FROM accounts GROUP BY "kind" ORDER BY "Number" DESC;
bank: SELECT SUM(CASE WHEN kind = 'credit' AND balance < -500 THEN 1 ELSE 0 END) / COUNT(*) AS risky FROM accounts;
bank: SELECT EVERY(balance >= 0) FROM accounts WHERE kind = 'savings';
retail: SELECT c.country,
       COUNT(DISTINCT CASE WHEN o.status = 'completed' THEN o.customer_id END) * 100.0 / COUNT(DISTINCT c.customer_id) AS buyer_pct
FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id
GROUP BY c.country;
retail: SELECT DATE_TRUNC('quarter', order_date)::date AS q, channel, SUM(total) AS revenue, COUNT(DISTINCT order_id) AS orders
FROM orders WHERE status = 'completed' GROUP BY 1, 2 ORDER BY 1, 2;
retail: SELECT p.category, SUM(l.quantity * l.unit_price) AS revenue, COUNT(DISTINCT l.order_id) AS baskets
FROM order_lines l JOIN products p ON p.product_id = l.product_id
GROUP BY p.category;
retail: SELECT CASE WHEN total < 10 THEN 'a. <10' WHEN total < 50 THEN 'b. 10-50' WHEN total < 200 THEN 'c. 50-200' ELSE 'd. 200+' END AS basket,
       COUNT(*) AS orders, SUM(total) AS revenue
FROM orders
GROUP BY CASE WHEN total < 10 THEN 'a. <10' WHEN total < 50 THEN 'b. 10-50' WHEN total < 200 THEN 'c. 50-200' ELSE 'd. 200+' END
ORDER BY 1;
retail: SELECT COUNT(*) FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM orders WHERE order_date >= '2024-01-01');
retail: SELECT COUNT(*) AS repeaters FROM (
  SELECT customer_id FROM orders WHERE status <> 'cancelled' GROUP BY customer_id HAVING COUNT(DISTINCT order_id) >= 2
) r;
retail: SELECT AVG(IFNULL(n, 0)) AS orders_per_customer
FROM customers c LEFT JOIN (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) o USING (customer_id);
retail: SELECT YEAR(order_date) AS y, MONTH(order_date) AS m, SUM(total) AS revenue, COUNT(*) AS orders
FROM orders GROUP BY y, m HAVING SUM(total) > 1000 ORDER BY y, m;
retail: SELECT channel, COUNT(*) FILTER (WHERE status = 'returned')::float / COUNT(*) AS return_rate FROM orders GROUP BY channel;
retail: SELECT COUNT(DISTINCT customer_id) FROM orders WHERE channel = 'web' AND customer_id IN (SELECT customer_id FROM orders WHERE channel = 'store');
retail: SELECT segment, STRING_AGG(country, ',') FROM customers GROUP BY segment;
flights: SELECT carrier, AVG(CASE WHEN arr_delay <= 15 THEN 1.0 ELSE 0.0 END) AS on_time,
       PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY arr_delay) AS p90
FROM segments WHERE cabin = 'economy' GROUP BY carrier;
flights: SELECT ap.region, COUNT(DISTINCT b.passenger_id) AS travellers
FROM bookings b JOIN segments s ON s.booking_id = b.booking_id JOIN airports ap ON ap.code = s.destination
GROUP BY ap.region;
flights: SELECT origin || '-' || destination AS route, COUNT(*) AS n, MAX(arr_delay - dep_delay) AS worst FROM segments GROUP BY origin || '-' || destination;
flights: SELECT p.tier, AVG(b.fare) AS fare, AVG(b.fare) / (SELECT AVG(fare) FROM bookings) AS rel
FROM passengers p JOIN bookings b ON b.passenger_id = p.passenger_id GROUP BY p.tier;
flights: SELECT DATE_PART('dow', flight_date) AS dow, COUNT(*) AS n, COUNT(*) FILTER (WHERE dep_delay > 60 OR arr_delay > 60) AS bad FROM segments GROUP BY 1;
survey: SELECT region, AVG(CASE WHEN satisfaction >= 4 THEN 1 ELSE 0 END) AS top2, AVG(satisfaction) AS mean_score, COUNT(*) AS n
FROM respondents GROUP BY region;
survey: SELECT CASE WHEN age BETWEEN 18 AND 34 THEN '18-34' WHEN age BETWEEN 35 AND 54 THEN '35-54' ELSE '55+' END AS age_band,
       SUM(weight * CASE WHEN votes THEN 1 ELSE 0 END) / SUM(weight) AS weighted_turnout
FROM respondents GROUP BY age_band;
survey: SELECT SUM(CASE WHEN nps >= 9 THEN 1 WHEN nps <= 6 THEN -1 ELSE 0 END) * 100.0 / COUNT(nps) AS nps FROM respondents;
survey: SELECT satisfaction, COUNT(*) AS n FROM respondents WHERE satisfaction IS NOT NULL GROUP BY satisfaction ORDER BY satisfaction;
survey: SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE income IS NULL) AS refused, AVG(income) AS mean_income, KURTOSIS(income) AS kurt FROM respondents;
