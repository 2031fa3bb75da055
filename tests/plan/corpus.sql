SELECT COUNT(*) FROM patients
SELECT COUNT(*) AS n FROM visits WHERE cost > 100
SELECT COUNT(DISTINCT patient_id) AS people FROM visits
SELECT AVG(age) AS mean_age FROM patients
SELECT SUM(cost) AS total FROM visits
SELECT MIN(age), MAX(age) FROM patients
SELECT MEDIAN(cost) AS m FROM visits
SELECT STDDEV(cost) AS s, VARIANCE(cost) AS v FROM visits
SELECT QUANTILE_CONT(cost, 0.9) AS p90 FROM visits
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) AS q1 FROM patients
SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex
SELECT sex, AVG(age) AS a FROM patients GROUP BY sex ORDER BY a DESC
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3
SELECT ward, SUM(cost) AS total, AVG(cost) AS mean FROM visits GROUP BY 1
SELECT v.ward, COUNT(*) AS n FROM visits AS v GROUP BY v.ward
SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis
SELECT sex, smoker, COUNT(*) AS n FROM patients GROUP BY sex, smoker
SELECT sex, smoker, COUNT(*) AS n FROM patients GROUP BY ALL
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 100
SELECT ward, AVG(cost) AS m FROM visits GROUP BY ward HAVING AVG(cost) > 200 AND COUNT(*) >= 50
SELECT ward, SUM(cost) / COUNT(*) AS per_visit FROM visits GROUP BY ward
SELECT ROUND(AVG(cost), 2) AS m FROM visits
SELECT SUM(cost) * 1.19 AS gross FROM visits
SELECT 100.0 * SUM(CASE WHEN smoker THEN 1 ELSE 0 END) / COUNT(*) AS pct FROM patients
SELECT AVG(CASE WHEN smoker THEN 1 ELSE 0 END) AS share FROM patients
SELECT COUNT(*) FILTER (WHERE cost > 500) AS dear FROM visits
SELECT ward, COUNT(*) FILTER (WHERE emergency) AS e, COUNT(*) AS n FROM visits GROUP BY ward
SELECT AVG(cost) FILTER (WHERE emergency) AS e FROM visits
SELECT COUNT_IF(cost > 500) AS dear FROM visits
SELECT SUM(IF(emergency, cost, 0)) AS e FROM visits
SELECT MAX(cost) - MIN(cost) AS spread FROM visits
SELECT AVG(cost) / STDDEV(cost) AS snr FROM visits
SELECT CASE WHEN COUNT(*) > 1000 THEN 'large' ELSE 'small' END AS size, COUNT(*) AS n FROM visits
SELECT COUNT(*) AS n FROM visits WHERE ward = 'north' AND cost BETWEEN 100 AND 500
SELECT COUNT(*) AS n FROM visits WHERE ward IN ('north', 'south') AND NOT emergency
SELECT COUNT(*) AS n FROM visits WHERE diagnosis LIKE 'J%'
SELECT COUNT(*) AS n FROM visits WHERE diagnosis ILIKE 'j%'
SELECT COUNT(*) AS n FROM visits WHERE diagnosis IS NULL
SELECT COUNT(*) AS n FROM visits WHERE cost IS NOT NULL AND (ward = 'north' OR ward = 'south')
SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2024-06-01'
SELECT COUNT(*) AS n FROM visits WHERE day >= '2024-06-01' AND day < '2024-07-01'
SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2024-12-31' - INTERVAL '30 days'
SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2024-01-01' AND DATE '2024-01-01' + INTERVAL '3 months'
SELECT EXTRACT(MONTH FROM day) AS month, COUNT(*) AS n FROM visits GROUP BY EXTRACT(MONTH FROM day)
SELECT MONTH(day) AS month, SUM(cost) AS s FROM visits GROUP BY 1 ORDER BY 1
SELECT DATE_PART('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1
SELECT DATE_TRUNC('week', day) AS week, SUM(cost) AS s FROM visits GROUP BY week
SELECT DATE_TRUNC('quarter', day) AS q, AVG(cost) AS m FROM visits GROUP BY q
SELECT day, COUNT(*) AS n FROM visits GROUP BY day ORDER BY day
SELECT YEAR(day) AS y, QUARTER(day) AS q, COUNT(*) AS n FROM visits GROUP BY 1, 2
SELECT DAYOFWEEK(day) AS d, COUNT(*) AS n FROM visits GROUP BY d
SELECT AVG(DATEDIFF('day', p.born, v.day)) AS days FROM visits v JOIN patients p ON v.patient_id = p.patient_id
SELECT AVG(day - DATE '2024-01-01') AS since FROM visits
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM patients GROUP BY decade
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS band, COUNT(*) AS n FROM patients GROUP BY band
SELECT WIDTH_BUCKET(cost, 0, 1000, 10) AS bin, COUNT(*) AS n FROM visits GROUP BY bin
SELECT age % 2 AS odd, COUNT(*) AS n FROM patients GROUP BY odd
SELECT LEAST(cost, 300) AS c, COUNT(*) AS n FROM visits WHERE cost < 20 GROUP BY FLOOR(cost), c
SELECT AVG(LN(cost + 1)) AS m FROM visits
SELECT AVG(LOG10(cost + 1)) AS m FROM visits
SELECT AVG(SQRT(cost)) AS m FROM visits
SELECT SUM(POWER(cost, 2)) AS s FROM visits
SELECT AVG(ABS(cost - 200)) AS mad FROM visits
SELECT SUM(SIGN(cost - 200)) AS s FROM visits
SELECT AVG(COALESCE(cost, 0)) AS m FROM visits
SELECT AVG(NULLIF(cost, 0)) AS m FROM visits
SELECT AVG(CAST(cost AS DOUBLE) / 100) AS m FROM visits
SELECT AVG(cost::DOUBLE / 7) AS m FROM visits
SELECT LOWER(ward) AS w, COUNT(*) AS n FROM visits GROUP BY w
SELECT UPPER(LEFT(ward, 1)) AS w, COUNT(*) AS n FROM visits GROUP BY w
SELECT SUBSTRING(diagnosis, 1, 1) AS chapter, COUNT(*) AS n FROM visits GROUP BY chapter
SELECT AVG(LENGTH(diagnosis)) AS l FROM visits
SELECT COUNT(*) AS n FROM visits WHERE LOWER(diagnosis) = 'j45'
SELECT COUNT(*) AS n FROM visits WHERE STARTS_WITH(diagnosis, 'J')
SELECT CORR(age, bmi) AS r FROM patients
SELECT REGR_SLOPE(bmi, age) AS b FROM patients
SELECT COVAR_SAMP(age, bmi) AS c FROM patients
SELECT AVG(bmi) AS m FROM patients WHERE age >= 18 -- adults only
SELECT /* all of them */ COUNT(*) AS n FROM visits
SELECT COUNT(*) AS n FROM (SELECT * FROM visits WHERE emergency) AS e
SELECT AVG(c) AS m FROM (SELECT cost / 2 AS c FROM visits) AS half
WITH dear AS (SELECT * FROM visits WHERE cost > 500) SELECT ward, COUNT(*) AS n FROM dear GROUP BY ward
WITH a AS (SELECT age, sex FROM patients WHERE smoker), b AS (SELECT * FROM a WHERE age > 40) SELECT sex, COUNT(*) AS n FROM b GROUP BY sex
SELECT p.sex, AVG(v.cost) AS m FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex
SELECT p.sex, AVG(v.cost) AS m FROM visits v INNER JOIN patients p USING (patient_id) GROUP BY p.sex
SELECT p.sex, v.ward, COUNT(*) AS n FROM patients p JOIN visits v ON p.patient_id = v.patient_id GROUP BY p.sex, v.ward
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id WHERE v.cost IS NULL
SELECT AVG(v.cost) AS m FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE p.age > 65 AND p.smoker
SELECT COUNT(*) AS n FROM visits v, patients p WHERE v.patient_id = p.patient_id AND p.sex = 'f'
SELECT w.kind, SUM(v.cost) AS s FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.kind
SELECT w.kind, p.sex, COUNT(*) AS n FROM visits v JOIN patients p USING (patient_id) JOIN wards w ON w.ward = v.ward GROUP BY w.kind, p.sex
SELECT AVG(w.beds) AS b FROM visits v LEFT JOIN wards w ON v.ward = w.ward
SELECT SUM(i.price) AS s FROM items i JOIN visits v ON i.visit_id = v.visit_id WHERE v.emergency
SELECT v.ward, SUM(i.price * i.quantity) AS revenue FROM items i JOIN visits v ON i.visit_id = v.visit_id GROUP BY v.ward
SELECT p.sex, SUM(i.price) AS s FROM items i JOIN visits v ON i.visit_id = v.visit_id JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex
SELECT COUNT(*) AS n FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.emergency)
SELECT COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id)
SELECT AVG(age) AS a FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE cost > 500)
SELECT AVG(age) AS a FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits)
SELECT AVG(n) AS visits FROM (SELECT patient_id, LEAST(COUNT(*), 50) AS n FROM visits GROUP BY patient_id) AS x
SELECT AVG(LEAST(n, 50)) AS visits FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS x
SELECT AVG(m) AS m FROM (SELECT patient_id, AVG(cost) AS m FROM visits GROUP BY patient_id) AS x
SELECT MEDIAN(LEAST(c, 5000)) AS m FROM (SELECT patient_id, SUM(cost) AS c FROM visits GROUP BY patient_id) AS x
SELECT COUNT(*) AS frequent FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 5) AS x
SELECT n, COUNT(*) AS people FROM (SELECT patient_id, LEAST(COUNT(*), 10) AS n FROM visits GROUP BY patient_id) AS x GROUP BY n
WITH per AS (SELECT patient_id, MAX(cost) AS dearest FROM visits GROUP BY patient_id) SELECT p.sex, AVG(per.dearest) AS m FROM per JOIN patients p ON p.patient_id = per.patient_id GROUP BY p.sex
SELECT p.smoker, AVG(x.n) AS n FROM patients p LEFT JOIN (SELECT patient_id, LEAST(COUNT(*), 20) AS n FROM visits GROUP BY patient_id) x ON x.patient_id = p.patient_id GROUP BY p.smoker
SELECT AVG(CASE WHEN n > 1 THEN 1 ELSE 0 END) AS returning FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) x
SELECT AVG(last - first) AS span FROM (SELECT patient_id, MIN(day) AS first, MAX(day) AS last FROM visits GROUP BY patient_id) x
SELECT SUM(wards) AS s FROM (SELECT patient_id, COUNT(DISTINCT ward) AS wards FROM visits GROUP BY patient_id) x
SELECT COUNT(*) AS pairs FROM (SELECT DISTINCT patient_id, ward FROM visits) x
SELECT ward, COUNT(*) AS people FROM (SELECT patient_id, ward FROM visits GROUP BY patient_id, ward) x GROUP BY ward
SELECT AVG(cost) AS first_cost FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS r FROM visits) x WHERE r = 1
SELECT AVG(day - before) AS gap FROM (SELECT day, LAG(day) OVER (PARTITION BY patient_id ORDER BY day) AS before FROM visits) x
SELECT COUNT(*) AS readmitted FROM (SELECT day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day) AS gap FROM visits) x WHERE gap <= 30
SELECT AVG(cost) AS m FROM (SELECT cost FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY cost DESC) = 1) x
SELECT AVG(LEAST(total, 2000)) AS m FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day) AS total FROM visits) x
SELECT ward, MEDIAN(cost) AS m, COUNT(*) AS n FROM visits WHERE emergency GROUP BY ward ORDER BY m
SELECT ward, QUANTILE_CONT(cost, 0.25) AS q1, QUANTILE_CONT(cost, 0.75) AS q3 FROM visits GROUP BY ward
SELECT sex, COUNT(*) AS n, AVG(age) AS a, AVG(bmi) AS b FROM patients GROUP BY sex
SELECT smoker, AVG(bmi) AS b FROM patients WHERE sex <> 'x' GROUP BY smoker
SELECT AVG(bmi * 2 + 1) AS m FROM patients
SELECT SUM(cost) AS s FROM visits WHERE cost > 0 AND day >= '2024-01-01' AND ward <> 'east'
SELECT COUNT(cost) AS known FROM visits
SELECT emergency, COUNT(*) AS n FROM visits GROUP BY emergency
SELECT MODE(age) AS m FROM patients
SELECT GREATEST(AVG(cost), 100) AS at_least FROM visits
SELECT COUNT(*) - COUNT(cost) AS missing FROM visits
SELECT ward, ROUND(100.0 * COUNT_IF(emergency) / COUNT(*), 1) AS pct FROM visits GROUP BY ward
SELECT EXP(AVG(LN(cost + 1))) AS geometric FROM visits
SELECT AVG(age) AS a FROM patients WHERE born < DATE '1990-01-01' AND smoker IS NOT NULL
- SELECT APPROX_QUANTILE(cost, 0.5) FROM visits
SELECT COUNT(*) FROM visits WHERE day = CURRENT_DATE
- SELECT TRIM(ward) AS w, COUNT(*) FROM visits GROUP BY w
- SELECT COUNT(*) FROM visits WHERE day + INTERVAL '7 days' > DATE '2024-05-01'
- SELECT * FROM patients LIMIT 10
- SELECT name FROM patients
SELECT COUNT(DISTINCT diagnosis) AS n FROM visits
- SELECT a.ward, COUNT(*) FROM visits a JOIN visits b ON a.ward = b.ward GROUP BY a.ward
- SELECT ward, AVG(n) FROM (SELECT ward, day, COUNT(*) AS n FROM visits GROUP BY ward, day) x GROUP BY ward
- SELECT AVG(cost) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)
- SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM patients
- SELECT ward, SUM(cost) OVER (ORDER BY ward) FROM visits
- SELECT STRING_AGG(diagnosis, ',') FROM visits
- SELECT DISTINCT ward FROM visits
- SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) x
- SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(diagnosis, 'J[0-9]+')
- SELECT ward, COUNT(*) FROM visits GROUP BY ward OFFSET 2
- SELECT COUNT(*) FROM visits v FULL JOIN patients p ON v.patient_id = p.patient_id
- SELECT cost, COUNT(*) FROM visits GROUP BY cost
