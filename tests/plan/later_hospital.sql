SELECT COUNT(DISTINCT patient_id) FROM visits WHERE day >= DATE '2024-06-01' AND day < DATE '2024-06-01' + INTERVAL '3 months'
SELECT ward, COUNT(*) AS admissions, ROUND(AVG(cost), 2) AS avg_cost, ROUND(STDDEV(cost), 2) AS sd_cost FROM visits GROUP BY ward ORDER BY admissions DESC
SELECT EXTRACT(MONTH FROM day) AS month, SUM(CASE WHEN emergency THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS pct_emergency FROM visits GROUP BY 1 ORDER BY 1
SELECT AVG(days_between) FROM (SELECT patient_id, day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day) AS days_between FROM visits) g WHERE days_between IS NOT NULL
- SELECT COUNT(*) FROM visits v1 WHERE EXISTS (SELECT 1 FROM visits v2 WHERE v2.patient_id = v1.patient_id AND v2.day > v1.day AND v2.day <= v1.day + INTERVAL '30 days')
WITH readmit AS (SELECT patient_id, day, LEAD(day) OVER (PARTITION BY patient_id ORDER BY day) AS next_day FROM visits) SELECT AVG(CASE WHEN next_day <= day + INTERVAL '30' DAY THEN 1.0 ELSE 0.0 END) AS readmission_rate FROM readmit
SELECT CASE WHEN age < 18 THEN '0-17' WHEN age < 40 THEN '18-39' WHEN age < 65 THEN '40-64' ELSE '65+' END AS age_group, COUNT(*) AS n FROM patients GROUP BY age_group ORDER BY age_group
SELECT sex, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY bmi) AS median_bmi, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY bmi) AS p90 FROM patients GROUP BY sex
SELECT COUNT(*) FROM patients WHERE bmi >= 30 AND smoker = TRUE AND age BETWEEN 50 AND 75
SELECT p.sex, w.kind, SUM(v.cost) AS total FROM visits v INNER JOIN patients p USING (patient_id) INNER JOIN wards w USING (ward) GROUP BY p.sex, w.kind
SELECT LEFT(diagnosis, 1) AS chapter, COUNT(*) FROM visits WHERE diagnosis IS NOT NULL GROUP BY LEFT(diagnosis, 1)
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'J4%' OR diagnosis IN ('I10', 'I11')
SELECT COUNT(*) FROM visits WHERE TRIM(UPPER(diagnosis)) = 'J45'
SELECT AVG(DATE_DIFF('year', born, DATE '2024-12-31')) AS mean_age FROM patients
- SELECT AVG(AGE(DATE '2024-12-31', born)) FROM patients
- SELECT patient_id, SUM(cost) FROM visits GROUP BY patient_id ORDER BY SUM(cost) DESC LIMIT 10
- SELECT AVG(total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits WHERE EXTRACT(YEAR FROM day) = 2024 GROUP BY patient_id HAVING COUNT(*) > 2) t
SELECT CASE WHEN n = 1 THEN 'once' WHEN n <= 3 THEN 'few' ELSE 'many' END AS freq, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) x GROUP BY 1
SELECT COUNT(*) AS never_seen FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id WHERE v.visit_id IS NULL
- SELECT w.ward, w.beds, COUNT(v.visit_id) AS visits, COUNT(v.visit_id) * 1.0 / w.beds AS per_bed FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY w.ward, w.beds
SELECT DATE_TRUNC('month', day)::date AS month, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY 1 ORDER BY 1
SELECT to_char(day, 'YYYY-MM') AS ym, COUNT(*) FROM visits GROUP BY 1
SELECT SUM(i.price * i.quantity) AS revenue FROM items i JOIN visits v ON v.visit_id = i.visit_id WHERE v.emergency
SELECT v.ward, AVG(i.price * i.quantity) FROM items i JOIN visits v USING (visit_id) GROUP BY v.ward HAVING COUNT(*) >= 20
- SELECT AVG(spend) FROM (SELECT v.patient_id, SUM(i.price * i.quantity) AS spend FROM visits v JOIN items i ON i.visit_id = v.visit_id GROUP BY v.patient_id) s
SELECT AVG(LEAST(spend, 2000)) FROM (SELECT v.patient_id, SUM(i.price * i.quantity) AS spend FROM visits v JOIN items i ON i.visit_id = v.visit_id GROUP BY v.patient_id) s
SELECT CORR(age, bmi) FROM patients
SELECT MIN(cost), MAX(cost), AVG(cost), MEDIAN(cost) FROM visits
SELECT COUNT(*) FILTER (WHERE cost > 500) AS expensive, COUNT(*) FILTER (WHERE cost <= 500) AS cheap, COUNT(*) AS all_visits FROM visits
SELECT COALESCE(diagnosis, 'unknown') AS dx, COUNT(*) FROM visits GROUP BY 1
SELECT ward, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward
SELECT COUNT(DISTINCT diagnosis) FROM visits
SELECT sex, smoker, COUNT(*) FROM patients GROUP BY GROUPING SETS ((sex), (smoker), (sex, smoker))
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM patients GROUP BY FLOOR(age / 10) * 10
SELECT CONCAT(sex, '-', CASE WHEN smoker THEN 'smoker' ELSE 'non' END) AS grp, AVG(bmi) FROM patients GROUP BY 1
SELECT AVG(bmi) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE ward = 'north' GROUP BY patient_id HAVING COUNT(*) >= 2)
SELECT day, COUNT(*) FROM visits WHERE day BETWEEN '2024-03-01' AND '2024-03-31' GROUP BY day ORDER BY day
SELECT DAYNAME(day), COUNT(*) FROM visits GROUP BY 1
SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, ward FROM visits) d
SELECT AVG(first_cost) FROM (SELECT patient_id, cost AS first_cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day, visit_id) AS rn FROM visits) f WHERE rn = 1
