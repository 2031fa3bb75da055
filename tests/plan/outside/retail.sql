SELECT DATE_FORMAT(order_date, '%Y-%m') AS month, SUM(total) AS revenue, COUNT(*) AS orders, SUM(total) / COUNT(*) AS aov
FROM orders
WHERE status = 'completed'
GROUP BY month
ORDER BY month;

SELECT pr.category, SUM(l.quantity * l.unit_price) AS revenue
FROM order_lines l
JOIN products pr ON pr.product_id = l.product_id
GROUP BY pr.category
ORDER BY revenue DESC
LIMIT 5;

SELECT COUNT(DISTINCT customer_id) AS buyers FROM orders WHERE order_date >= DATE_SUB('2024-06-30', INTERVAL 90 DAY);

SELECT c.segment, COUNT(o.order_id) / COUNT(DISTINCT c.customer_id) AS orders_per_customer
FROM customers c LEFT JOIN orders o ON c.customer_id = o.customer_id
GROUP BY c.segment;

WITH rfm AS (
    SELECT customer_id,
           DATEDIFF('2024-12-31', MAX(order_date)) AS recency,
           COUNT(*) AS frequency,
           SUM(total) AS monetary
    FROM orders
    GROUP BY customer_id
)
SELECT CASE WHEN recency <= 30 AND frequency >= 5 THEN 'champion'
            WHEN recency <= 90 THEN 'active'
            ELSE 'lapsed' END AS rfm_segment,
       COUNT(*) AS customers,
       AVG(monetary) AS avg_value
FROM rfm
GROUP BY rfm_segment;

SELECT SUM(IF(status = 'returned', 1, 0)) / COUNT(*) * 100 AS return_rate FROM orders WHERE YEAR(order_date) = 2024;

SELECT country, COUNT(*) AS n FROM customers WHERE email LIKE '%@gmail.com' GROUP BY country;

SELECT s.region, HOUR(o.order_time) AS hr, COUNT(*) AS orders
FROM orders o JOIN stores s ON s.store_id = o.store_id
GROUP BY s.region, HOUR(o.order_time);

SELECT cohort, COUNT(*) AS customers
FROM (SELECT customer_id, DATE_TRUNC('month', MIN(order_date)) AS cohort FROM orders GROUP BY customer_id) f
GROUP BY cohort
ORDER BY cohort;

WITH first_order AS (SELECT customer_id, MIN(order_date) AS first_date FROM orders GROUP BY customer_id)
SELECT COUNT(DISTINCT o.customer_id) AS retained
FROM orders o JOIN first_order f ON f.customer_id = o.customer_id
WHERE o.order_date > f.first_date + INTERVAL '30' DAY AND o.order_date <= f.first_date + INTERVAL '60' DAY;

SELECT AVG(total) FROM orders WHERE total > (SELECT AVG(total) FROM orders);

SELECT channel, AVG(CASE WHEN coupon IS NOT NULL THEN 1.0 ELSE 0.0 END) AS coupon_share FROM orders GROUP BY channel;

SELECT c.country, SUM(o.total) AS revenue, RANK() OVER (ORDER BY SUM(o.total) DESC) AS rnk
FROM customers c JOIN orders o ON o.customer_id = c.customer_id
GROUP BY c.country;

SELECT GROUP_CONCAT(DISTINCT customer_id) FROM orders WHERE total > 1000;

SELECT pr.brand, SUM(l.quantity) AS units, SUM(l.quantity * (l.unit_price - pr.cost_price)) AS margin
FROM orders o
JOIN order_lines l ON l.order_id = o.order_id
JOIN products pr ON pr.product_id = l.product_id
WHERE o.order_date BETWEEN '2024-11-25' AND '2024-12-02' AND o.status <> 'cancelled'
GROUP BY pr.brand
HAVING SUM(l.quantity) > 50;

SELECT COUNT(*) AS one_time_buyers FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) = 1) t;

SELECT basket_size, COUNT(*) AS baskets
FROM (SELECT order_id, SUM(quantity) AS basket_size FROM order_lines GROUP BY order_id) b
GROUP BY basket_size;

SELECT WEEKDAY(order_date) AS wd, SUM(total) AS revenue FROM orders GROUP BY WEEKDAY(order_date);

SELECT UPPER(TRIM(coupon)) AS code, COUNT(*) AS used, AVG(total) AS aov
FROM orders
WHERE COALESCE(coupon, '') <> ''
GROUP BY UPPER(TRIM(coupon));

SELECT MONTH(order_date) AS m,
       SUM(CASE WHEN YEAR(order_date) = 2024 THEN total END) AS y2024,
       SUM(CASE WHEN YEAR(order_date) = 2023 THEN total END) AS y2023,
       (SUM(CASE WHEN YEAR(order_date) = 2024 THEN total END) - SUM(CASE WHEN YEAR(order_date) = 2023 THEN total END))
         / SUM(CASE WHEN YEAR(order_date) = 2023 THEN total END) AS growth
FROM orders
GROUP BY m;

SELECT SUM(total) AS revenue, SUM(SUM(total)) OVER (ORDER BY order_date) AS running FROM orders GROUP BY order_date;

SELECT COUNT(DISTINCT o.customer_id) AS cross_buyers
FROM orders o
WHERE EXISTS (SELECT 1 FROM order_lines l JOIN products p ON p.product_id = l.product_id WHERE l.order_id = o.order_id AND p.category = 'electronics')
  AND o.channel = 'web';

SELECT AVG(spend) AS arpu, STDDEV_POP(spend) AS sd
FROM (SELECT c.customer_id, IFNULL(SUM(o.total), 0) AS spend
      FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id AND o.order_date >= '2024-01-01'
      GROUP BY c.customer_id) x
WHERE spend < 5000;

SELECT segment, TIMESTAMPDIFF(YEAR, signup_date, '2024-12-31') AS tenure, COUNT(*) AS customers
FROM customers
GROUP BY segment, tenure;

SELECT COUNT(*) AS orders, COUNT(coupon) AS with_coupon, ROUND(COUNT(coupon) / COUNT(*), 4) AS share, MAX(total) AS biggest
FROM orders
WHERE MOD(store_id, 2) = 0;

SELECT o.store_id, MEDIAN(o.total) AS median_order
FROM orders o
WHERE o.order_date >= '2024-01-01' AND o.total BETWEEN 1 AND 500
GROUP BY o.store_id;
