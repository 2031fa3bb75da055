SELECT carrier, AVG(arr_delay) AS avg_delay FROM segments GROUP BY carrier ORDER BY avg_delay DESC;

SELECT origin, destination, COUNT(*) AS trips
FROM segments
GROUP BY origin, destination
ORDER BY trips DESC
LIMIT 20;

SELECT carrier,
       COUNT(*) AS flown,
       SUM(IF(arr_delay > 15, 1, 0)) / COUNT(*) AS late_share
FROM segments
GROUP BY carrier
HAVING flown > 100;

SELECT FORMAT_DATE('%Y-%m', flight_date) AS month, COUNT(*) AS segments
FROM segments
GROUP BY month
ORDER BY month;

SELECT DATE_TRUNC(flight_date, MONTH) AS month, COUNTIF(cabin = 'business') AS business, COUNT(*) AS total
FROM segments
GROUP BY month;

SELECT b.channel, SAFE_DIVIDE(SUM(b.fare), COUNT(*)) AS avg_fare
FROM bookings b
GROUP BY b.channel;

SELECT p.tier, COUNT(DISTINCT p.passenger_id) AS flyers, SUM(s.distance) AS miles
FROM passengers p
JOIN bookings b ON b.passenger_id = p.passenger_id
JOIN segments s ON s.booking_id = b.booking_id
GROUP BY p.tier;

WITH per_flyer AS (
  SELECT b.passenger_id, COUNT(*) AS flights, SUM(s.distance) AS miles
  FROM bookings b JOIN segments s ON s.booking_id = b.booking_id
  WHERE s.flight_date BETWEEN '2023-01-01' AND '2023-12-31'
  GROUP BY b.passenger_id
)
SELECT COUNT(*) AS gold_candidates FROM per_flyer WHERE flights >= 20 OR miles >= 50000;

SELECT a.region, COUNT(*) AS departures, AVG(s.dep_delay) AS mean_delay
FROM segments s JOIN airports a ON s.origin = a.code
WHERE a.country = 'US'
GROUP BY a.region;

SELECT ao.region AS from_region, ad.region AS to_region, COUNT(*) AS n
FROM segments s
JOIN airports ao ON ao.code = s.origin
JOIN airports ad ON ad.code = s.destination
GROUP BY 1, 2;

SELECT EXTRACT(DAYOFWEEK FROM flight_date) AS dow, AVG(dep_delay) AS delay
FROM segments
WHERE dep_delay IS NOT NULL
GROUP BY dow
ORDER BY dow;

SELECT APPROX_QUANTILES(fare, 100)[OFFSET(50)] AS median_fare FROM bookings;

SELECT quantile_cont(arr_delay, [0.1, 0.5, 0.9]) FROM segments;

SELECT AVG(DATE_DIFF(s.flight_date, CAST(b.booked_at AS DATE), DAY)) AS lead_days
FROM bookings b JOIN segments s ON s.booking_id = b.booking_id
WHERE b.channel = 'web';

SELECT CASE WHEN distance < 500 THEN 'short' WHEN distance BETWEEN 500 AND 1500 THEN 'medium' ELSE 'long' END AS haul,
       COUNT(*) AS n, AVG(arr_delay - dep_delay) AS made_up
FROM segments
GROUP BY haul;

SELECT * FROM bookings WHERE fare > 5000;

SELECT country, COUNT(*) AS members, COUNT(*) / SUM(COUNT(*)) OVER () AS share
FROM passengers
GROUP BY country
QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 5;

SELECT COUNT(*) AS repeat_within_week
FROM (
  SELECT passenger_id, booked_at, LEAD(booked_at) OVER (PARTITION BY passenger_id ORDER BY booked_at) AS next_booked
  FROM bookings
)
WHERE next_booked < booked_at + INTERVAL 7 DAY;

SELECT p.country, MAX(b.fare) AS top_fare, MIN(b.fare) AS low_fare
FROM passengers p, bookings b
WHERE p.passenger_id = b.passenger_id AND b.currency = 'EUR'
GROUP BY p.country;

SELECT COUNT(DISTINCT passenger_id) AS mau, strftime(booked_at, '%Y-%m') AS ym FROM bookings GROUP BY ALL ORDER BY ym;

SELECT 2024 - birth_year AS age, COUNT(*) FROM passengers WHERE birth_year IS NOT NULL GROUP BY age;

SELECT origin, SUM(dep_delay > 60) AS badly_delayed FROM segments GROUP BY origin ORDER BY badly_delayed DESC LIMIT 5;

SELECT CONCAT(origin, '-', destination) AS route, AVG(arr_delay) AS d FROM segments WHERE carrier = 'DL' GROUP BY route;

WITH b AS (SELECT passenger_id, fare, ROW_NUMBER() OVER (PARTITION BY passenger_id ORDER BY booked_at) AS nth FROM bookings)
SELECT nth, AVG(fare) AS fare, COUNT(*) AS n FROM b WHERE nth <= 5 GROUP BY nth ORDER BY nth;

SELECT x.passenger_id, y.passenger_id, COUNT(*) AS shared
FROM bookings x JOIN bookings y ON CAST(x.booked_at AS DATE) = CAST(y.booked_at AS DATE) AND x.passenger_id <> y.passenger_id
GROUP BY 1, 2;

SELECT cabin, STDDEV_SAMP(dep_delay) AS sd, VARIANCE(dep_delay) AS v, COUNT(dep_delay) AS n FROM segments GROUP BY cabin;
