SELECT department, COUNT(*) AS admissions, AVG(total_charge) AS avg_charge FROM admissions GROUP BY department ORDER BY admissions DESC;

SELECT EXTRACT(YEAR FROM admitted_at) AS yr, EXTRACT(MONTH FROM admitted_at) AS mon, COUNT(*) AS n
FROM admissions
GROUP BY 1, 2
ORDER BY 1, 2;

SELECT department,
       AVG(EXTRACT(EPOCH FROM (discharged_at - admitted_at)) / 86400) AS avg_los_days
FROM admissions
WHERE discharged_at IS NOT NULL
GROUP BY department;

SELECT p.sex, COUNT(DISTINCT a.patient_id) AS patients, COUNT(*) AS stays
FROM admissions a
JOIN patients p ON p.patient_id = a.patient_id
WHERE a.admission_type = 'emergency'
GROUP BY p.sex;

WITH stays AS (
    SELECT patient_id,
           admitted_at,
           LAG(discharged_at) OVER (PARTITION BY patient_id ORDER BY admitted_at) AS prev_discharge
    FROM admissions
)
SELECT COUNT(*) FILTER (WHERE admitted_at - prev_discharge <= INTERVAL '30 days') * 1.0 / COUNT(*) AS readmission_rate
FROM stays;

SELECT department,
       100.0 * SUM(CASE WHEN died THEN 1 ELSE 0 END) / NULLIF(COUNT(*), 0) AS mortality_pct
FROM admissions
GROUP BY department
HAVING COUNT(*) >= 50
ORDER BY mortality_pct DESC;

SELECT CASE WHEN DATE_PART('year', AGE(a.admitted_at, p.birth_date)) < 18 THEN '0-17'
            WHEN DATE_PART('year', AGE(a.admitted_at, p.birth_date)) < 65 THEN '18-64'
            ELSE '65+' END AS age_band,
       COUNT(*) AS n
FROM admissions a JOIN patients p USING (patient_id)
GROUP BY 1
ORDER BY 1;

SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total_charge) AS median_charge,
       percentile_cont(0.9) WITHIN GROUP (ORDER BY total_charge) AS p90_charge
FROM admissions
WHERE admission_type IN ('elective', 'urgent');

SELECT AVG(n_stays) AS mean_stays, MAX(n_stays) AS max_stays
FROM (SELECT patient_id, COUNT(*) AS n_stays FROM admissions GROUP BY patient_id) s;

SELECT n_stays, COUNT(*) AS patients
FROM (SELECT patient_id, LEAST(COUNT(*), 10) AS n_stays FROM admissions GROUP BY patient_id) s
GROUP BY n_stays
ORDER BY n_stays;

SELECT l.test, AVG(l.value) AS mean_value, STDDEV(l.value) AS sd_value, COUNT(*) AS n
FROM labs l
GROUP BY l.test;

SELECT p.insurance_type, l.test, ROUND(AVG(l.value), 2) AS mean_value
FROM labs l
JOIN admissions a ON a.admission_id = l.admission_id
JOIN patients p ON p.patient_id = a.patient_id
WHERE l.test = 'creatinine' AND a.department <> 'maternity'
GROUP BY p.insurance_type, l.test;

SELECT COUNT(*) AS frequent_attenders
FROM (SELECT patient_id FROM admissions
      WHERE admission_type = 'emergency' AND admitted_at >= '2023-01-01' AND admitted_at < '2024-01-01'
      GROUP BY patient_id
      HAVING COUNT(*) >= 4) f;

SELECT COUNT(*) FROM patients p
WHERE NOT EXISTS (SELECT 1 FROM admissions a WHERE a.patient_id = p.patient_id);

SELECT COUNT(DISTINCT patient_id) FROM admissions WHERE drg LIKE 'F%' AND admitted_at BETWEEN '2023-01-01' AND '2023-12-31';

SELECT to_char(admitted_at, 'YYYY-MM') AS month, COUNT(*) AS admissions
FROM admissions
GROUP BY to_char(admitted_at, 'YYYY-MM')
ORDER BY month;

SELECT department, COUNT(*) AS n,
       ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct_of_all
FROM admissions
GROUP BY department;

WITH first_stay AS (
    SELECT DISTINCT ON (patient_id) patient_id, department, admitted_at
    FROM admissions
    ORDER BY patient_id, admitted_at
)
SELECT department, COUNT(*) AS first_admissions FROM first_stay GROUP BY department;

SELECT d.building, SUM(a.total_charge) AS revenue, SUM(a.total_charge) / SUM(d.beds) AS revenue_per_bed
FROM admissions a
LEFT JOIN departments d ON a.department = d.department
GROUP BY d.building;

SELECT EXTRACT(ISODOW FROM admitted_at) AS weekday, EXTRACT(HOUR FROM admitted_at) AS hour, COUNT(*) AS arrivals
FROM admissions
WHERE admission_type = 'emergency'
GROUP BY weekday, hour;

SELECT p.patient_id, p.birth_date, a.admitted_at, a.drg
FROM patients p JOIN admissions a ON a.patient_id = p.patient_id
WHERE a.died = true
ORDER BY a.admitted_at DESC
LIMIT 100;

SELECT DATE_TRUNC('month', admitted_at) AS month,
       COUNT(*) AS n,
       COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', admitted_at)) AS change
FROM admissions
GROUP BY 1
ORDER BY 1;

SELECT p.postcode_area, COUNT(DISTINCT p.patient_id) AS diabetics
FROM patients p
WHERE p.patient_id IN (SELECT a.patient_id FROM admissions a WHERE a.drg IN ('K60', 'K61'))
GROUP BY p.postcode_area;

SELECT AVG(max_value) AS mean_peak_creatinine
FROM (SELECT a.patient_id, MAX(l.value) AS max_value
      FROM labs l JOIN admissions a ON a.admission_id = l.admission_id
      WHERE l.test = 'creatinine'
      GROUP BY a.patient_id) peaks;

SELECT COALESCE(p.insurance_type, 'unknown') AS payer, COUNT(*) AS n, SUM(a.total_charge) AS charges
FROM patients p LEFT JOIN admissions a ON a.patient_id = p.patient_id
GROUP BY COALESCE(p.insurance_type, 'unknown');

SELECT COUNT(*) FILTER (WHERE discharged_at::date - admitted_at::date > 14) AS long_stays,
       COUNT(*) AS all_stays
FROM admissions;

SELECT corr(total_charge, EXTRACT(EPOCH FROM (discharged_at - admitted_at)) / 3600) AS r FROM admissions WHERE died = false;
