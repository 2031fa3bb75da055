SELECT channel, COUNT(*) AS orders, SUM(total) AS revenue, SUM(total) / COUNT(*) AS aov FROM orders WHERE status = 'paid' GROUP BY channel
SELECT DATE_TRUNC('month', placed) AS month, SUM(total) AS revenue FROM orders GROUP BY 1 ORDER BY 1
SELECT EXTRACT(HOUR FROM placed AT TIME ZONE 'Europe/Zurich') AS hour, COUNT(*) FROM orders GROUP BY 1 ORDER BY 1
SELECT DATE(placed) AS d, COUNT(*) FROM orders WHERE placed >= TIMESTAMP '2024-11-01 00:00:00' AND placed < TIMESTAMP '2024-12-01 00:00:00' GROUP BY 1
SELECT p.category, SUM(l.quantity * l.unit_price) AS revenue FROM lines l JOIN products p ON l.sku = p.sku GROUP BY p.category ORDER BY revenue DESC LIMIT 5
SELECT s.region, COUNT(DISTINCT o.customer_id) AS customers FROM orders o JOIN stores s ON o.store = s.store GROUP BY s.region
SELECT COUNT(*) FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND o.placed > TIMESTAMP '2024-06-30')
- SELECT c.segment, AVG(o.n_orders) FROM customers c JOIN (SELECT customer_id, COUNT(*) AS n_orders FROM orders GROUP BY customer_id) o ON o.customer_id = c.customer_id GROUP BY c.segment
SELECT AVG(CASE WHEN coupon IS NOT NULL THEN 1 ELSE 0 END) AS coupon_rate FROM orders
- SELECT NTILE(4) OVER (ORDER BY total) AS quartile, AVG(total) FROM orders GROUP BY 1
SELECT country, AVG(2024 - birth_year) AS avg_age FROM customers GROUP BY country
SELECT DATE_TRUNC('month', first_order) AS cohort, COUNT(*) AS new_customers FROM (SELECT customer_id, MIN(placed) AS first_order FROM orders GROUP BY customer_id) f GROUP BY 1
SELECT SUM(CASE WHEN status = 'returned' THEN total ELSE 0 END) / NULLIF(SUM(total), 0) AS return_share FROM orders
SELECT AVG(LN(1 + total)) FROM orders
SELECT EXP(AVG(LN(GREATEST(total, 1)))) AS geometric_mean FROM orders
SELECT AVG(EXP(-0.1 * quantity)) FROM lines
SELECT COUNT(*) FROM orders o JOIN customers c ON c.customer_id = o.customer_id WHERE o.placed < c.signup + INTERVAL '7 days'
SELECT RIGHT(coupon, 2) AS pct, COUNT(*) FROM orders WHERE coupon IS NOT NULL GROUP BY 1
SELECT country || '/' || segment AS cell, COUNT(*) FROM customers GROUP BY 1
SELECT channel, status, COUNT(*) FROM orders GROUP BY ROLLUP (channel, status)
SELECT COUNT(*) FROM orders WHERE CAST(placed AS DATE) = DATE '2024-11-29'
- SELECT AVG(total) FROM orders TABLESAMPLE (10 PERCENT)
SELECT APPROX_COUNT_DISTINCT(customer_id) FROM orders
- SELECT channel, AVG(total) - (SELECT AVG(total) FROM orders) AS diff FROM orders GROUP BY channel
SELECT SUM(quantity) FROM lines WHERE sku IN (SELECT sku FROM products WHERE brand = 'acme')
SELECT COUNT(*) FROM orders WHERE LENGTH(TRIM(coupon)) > 0
SELECT CASE EXTRACT(DOW FROM placed) WHEN 0 THEN 'Sun' WHEN 6 THEN 'Sat' ELSE 'week' END AS day_type, SUM(total) FROM orders GROUP BY 1
SELECT MODE() WITHIN GROUP (ORDER BY channel) FROM orders
SELECT c.country, SUM(o.total) FILTER (WHERE o.channel = 'web') AS web, SUM(o.total) FILTER (WHERE o.channel = 'shop') AS shop FROM orders o, customers c WHERE o.customer_id = c.customer_id GROUP BY c.country
SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING SUM(total) > 1000) big
