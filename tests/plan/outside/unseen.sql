hospital: SELECT admission_type, COUNT(DISTINCT patient_id) AS patients, COUNT(*) * 1.0 / COUNT(DISTINCT patient_id) AS stays_per_patient
FROM admissions GROUP BY admission_type ORDER BY patients DESC;
hospital: SELECT d.building, COUNT(DISTINCT a.patient_id) FILTER (WHERE a.died) AS deaths, COUNT(DISTINCT a.patient_id) AS patients
FROM admissions a LEFT JOIN departments d ON d.department = a.department
GROUP BY d.building;
hospital: SELECT EXTRACT(YEAR FROM admitted_at) AS yr, EXTRACT(QUARTER FROM admitted_at) AS qtr, COUNT(*) AS admissions, SUM(total_charge) AS charges
FROM admissions GROUP BY yr, qtr ORDER BY yr, qtr;
hospital: SELECT p.insurance_type, AVG(a.total_charge) AS avg_charge, MAX(a.total_charge) AS max_charge
FROM patients AS p INNER JOIN admissions AS a ON p.patient_id = a.patient_id
WHERE p.insurance_type IS NOT NULL AND a.total_charge > 0
GROUP BY p.insurance_type;
hospital: SELECT COUNT(*) AS diabetics FROM patients p
WHERE p.patient_id IN (SELECT a.patient_id FROM admissions a JOIN labs l ON l.admission_id = a.admission_id WHERE l.test = 'hba1c' AND l.value > 6.5);
hospital: SELECT AVG(n_tests) AS tests_per_stay FROM (SELECT admission_id, COUNT(*) AS n_tests FROM labs GROUP BY admission_id) t;
hospital: SELECT CASE WHEN EXTRACT(HOUR FROM admitted_at) BETWEEN 8 AND 17 THEN 'day' ELSE 'night' END AS shift, AVG(CASE WHEN died THEN 1.0 ELSE 0 END) AS mortality
FROM admissions GROUP BY shift;
hospital: SELECT department, AVG(DATE_PART('day', discharged_at - admitted_at)) AS los FROM admissions GROUP BY department HAVING COUNT(*) >= 5;
hospital: WITH last_stay AS (
  SELECT patient_id, department, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY admitted_at DESC) AS rn FROM admissions
)
SELECT department, COUNT(*) AS last_seen FROM last_stay WHERE rn = 1 GROUP BY department;
hospital: SELECT sex, DATE_PART('year', AGE(DATE '2024-12-31', birth_date)) AS age, COUNT(*) FROM patients GROUP BY 1, 2;
hospital: SELECT COUNT(DISTINCT l.admission_id) AS abnormal_stays FROM labs l WHERE l.value NOT BETWEEN 1 AND 5;
hospital: SELECT department, SUM(total_charge) AS charges, SUM(total_charge) * 100.0 / SUM(SUM(total_charge)) OVER () AS pct_of_total
FROM admissions GROUP BY department ORDER BY pct_of_total DESC;
hospital: SELECT a.patient_id, p.sex, a.department FROM admissions a JOIN patients p ON p.patient_id = a.patient_id LIMIT 100;
bank: SELECT c.segment, SUM(t.amount) / COUNT(DISTINCT c.client_id) AS spend_per_client
FROM clients c JOIN accounts a ON a.client_id = c.client_id JOIN transactions t ON t.account_id = a.account_id
WHERE t.amount < 0 AND t.booked BETWEEN '2024-01-01' AND '2024-06-30'
GROUP BY c.segment;
bank: SELECT EXTRACT(YEAR FROM opened) AS cohort, kind, COUNT(DISTINCT account_id) AS accounts FROM accounts GROUP BY 1, 2 ORDER BY 1, 2;
bank: SELECT COUNT(*) FILTER (WHERE n >= 3) * 100.0 / COUNT(*) AS pct_multi
FROM (SELECT client_id, COUNT(DISTINCT kind) AS n FROM accounts GROUP BY client_id) k;
bank: SELECT DATE_TRUNC('month', booked) AS m, SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END) AS inflow, SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS outflow
FROM transactions GROUP BY m ORDER BY m;
bank: SELECT channel, COUNT(*) AS n, AVG(ABS(amount)) AS avg_abs, STDDEV(amount) AS sd FROM transactions GROUP BY channel;
bank: SELECT CASE WHEN income IS NULL THEN 'unknown' WHEN income < 20000 THEN 'low' WHEN income < 60000 THEN 'mid' ELSE 'high' END AS income_band, COUNT(*) AS clients, AVG(age) AS avg_age
FROM clients GROUP BY income_band;
bank: SELECT COUNT(*) FROM clients c JOIN (SELECT client_id, MAX(balance) AS top FROM accounts GROUP BY client_id) m ON m.client_id = c.client_id WHERE m.top > 1000 AND c.age < 40;
bank: SELECT t.channel, COUNT(DISTINCT a.client_id) AS users FROM transactions t INNER JOIN accounts a USING (account_id) WHERE EXTRACT(DOW FROM t.booked) IN (0, 6) GROUP BY t.channel;
bank: SELECT AVG(days) AS mean_gap FROM (
  SELECT a.client_id, t.booked - LAG(t.booked) OVER (PARTITION BY a.client_id ORDER BY t.booked) AS days
  FROM transactions t JOIN accounts a ON a.account_id = t.account_id
) g WHERE days IS NOT NULL;
bank: SELECT client_id, SUM(balance) AS wealth FROM accounts GROUP BY client_id ORDER BY wealth DESC LIMIT 10;
retail: SELECT CAST(strftime('%Y', order_date) AS INTEGER) AS y, channel, COUNT(*) AS orders FROM orders GROUP BY y, channel;
retail: SELECT COUNT(DISTINCT o.customer_id) AS both_channels FROM orders o
WHERE EXISTS (SELECT 1 FROM orders x WHERE x.customer_id = o.customer_id AND x.channel = 'web')
  AND EXISTS (SELECT 1 FROM orders y WHERE y.customer_id = o.customer_id AND y.channel = 'store');
retail: SELECT s.region, p.category, SUM(l.quantity) AS units
FROM order_lines l JOIN orders o ON o.order_id = l.order_id JOIN products p ON p.product_id = l.product_id JOIN stores s ON s.store_id = o.store_id
WHERE o.status = 'completed'
GROUP BY s.region, p.category ORDER BY units DESC LIMIT 10;
retail: SELECT c.segment, COUNT(DISTINCT c.customer_id) AS customers, COUNT(o.order_id) AS orders, COALESCE(SUM(o.total), 0) AS revenue
FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id AND o.status = 'completed'
GROUP BY c.segment;
retail: WITH monthly AS (SELECT customer_id, DATE_TRUNC('month', order_date) AS m, SUM(total) AS spend FROM orders GROUP BY 1, 2)
SELECT m, COUNT(*) AS active_customers FROM monthly GROUP BY m ORDER BY m;
retail: SELECT COUNT(*) AS big_baskets FROM (SELECT order_id, SUM(quantity * unit_price) AS value FROM order_lines GROUP BY order_id HAVING SUM(quantity * unit_price) > 100) b;
retail: SELECT channel, MEDIAN(total) AS med, QUANTILE_CONT(total, 0.95) AS p95, COUNT(*) AS n FROM orders WHERE status IN ('completed', 'returned') GROUP BY channel;
retail: SELECT SUM(CASE WHEN coupon LIKE 'SAVE%' THEN 1 ELSE 0 END) AS saves, SUM(CASE WHEN coupon IS NULL THEN 1 ELSE 0 END) AS none, COUNT(*) AS n FROM orders;
retail: SELECT DISTINCT status FROM orders;
flights: SELECT carrier, EXTRACT(MONTH FROM flight_date) AS month, AVG(dep_delay) AS dep, AVG(arr_delay) AS arr, COUNT(*) AS n
FROM segments WHERE origin = 'JFK' GROUP BY carrier, month ORDER BY carrier, month;
flights: SELECT CORR(dep_delay, arr_delay) AS r, COVAR_POP(dep_delay, arr_delay) AS cov FROM segments WHERE distance > 500;
flights: SELECT o.region AS from_region, d.region AS to_region, COUNT(*) AS trips
FROM segments s JOIN airports o ON o.code = s.origin JOIN airports d ON d.code = s.destination
GROUP BY o.region, d.region;
flights: SELECT tier, AVG(2024 - birth_year) AS age, COUNT(*) FILTER (WHERE birth_year IS NULL) AS unknown FROM passengers GROUP BY tier;
flights: SELECT COUNT(DISTINCT b.booking_id) AS bookings, COUNT(*) AS legs, COUNT(*) * 1.0 / COUNT(DISTINCT b.booking_id) AS legs_per_booking
FROM bookings b JOIN segments s ON s.booking_id = b.booking_id WHERE b.channel = 'web';
survey: SELECT region, votes, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY region) AS pct FROM respondents GROUP BY region, votes;
survey: SELECT FLOOR(age / 5) * 5 AS age_group, AVG(satisfaction) AS score FROM respondents WHERE age BETWEEN 20 AND 79 GROUP BY 1 ORDER BY 1;
survey: SELECT SUM(satisfaction * weight) / SUM(weight) AS weighted_mean, AVG(satisfaction) AS plain_mean FROM respondents WHERE satisfaction IS NOT NULL;
