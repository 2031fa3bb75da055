"""Statements a hostile or careless analyst might write. None of them may be accepted, crash, log or take long."""

FILES = """
SELECT COUNT(*) FROM '/etc/passwd'
SELECT COUNT(*) FROM "/etc/passwd"
SELECT COUNT(*) FROM 'people.parquet'
SELECT COUNT(*) FROM 'https://example.org/x.csv'
SELECT COUNT(*) FROM read_csv('/etc/passwd')
SELECT COUNT(*) FROM read_csv_auto('/etc/passwd')
SELECT COUNT(*) FROM read_parquet('*.parquet')
SELECT COUNT(*) FROM read_json('x.json')
SELECT COUNT(*) FROM read_text('/etc/shadow')
SELECT COUNT(*) FROM read_blob('/etc/shadow')
SELECT COUNT(*) FROM parquet_scan('x')
SELECT COUNT(*) FROM glob('/etc/*')
SELECT COUNT(*) FROM sniff_csv('x')
SELECT COUNT(*) FROM duckdb_settings()
SELECT COUNT(*) FROM duckdb_secrets()
SELECT COUNT(*) FROM pragma_database_list
SELECT COUNT(*) FROM pragma_table_info('people')
SELECT COUNT(*) FROM information_schema.tables
SELECT COUNT(*) FROM information_schema.columns
SELECT COUNT(*) FROM sqlite_master
SELECT COUNT(*) FROM pg_catalog.pg_class
SELECT COUNT(*) FROM elsewhere.people
SELECT COUNT(*) FROM held.main.people
SELECT COUNT(*) FROM held_rows
SELECT COUNT(*) FROM bounded
SELECT COUNT(*) FROM secrets
SELECT COUNT(*) FROM people, secrets
SELECT COUNT(*) FROM people JOIN secrets ON TRUE
SELECT COUNT(*) FROM people JOIN '/etc/passwd' ON TRUE
SELECT COUNT(*) FROM people JOIN read_csv('x') AS r ON people.kids = r.kids
SELECT COUNT(*) FROM range(1000000000)
SELECT COUNT(*) FROM generate_series(1, 1000000000)
SELECT COUNT(*) FROM repeat('x', 1000000000)
SELECT COUNT(*) FROM unnest([1, 2, 3])
SELECT COUNT(*) FROM (VALUES (1), (2)) AS v(x)
SELECT COUNT(*) FROM (DESCRIBE people)
SELECT COUNT(*) FROM (SHOW TABLES)
SELECT COUNT(*) FROM (SUMMARIZE people)
SELECT COUNT(*) FROM query('SELECT 1')
SELECT COUNT(*) FROM query_table('people')
SELECT COUNT(*) FROM postgres_scan('host', 'public', 'x')
SELECT COUNT(*) FROM sqlite_scan('x', 'y')
SELECT COUNT(*) FROM people AT (VERSION => 1)
SELECT COUNT(*) FROM people TABLESAMPLE 10 PERCENT
SELECT COUNT(*) FROM people TABLESAMPLE reservoir(10)
SELECT COUNT(*) FROM people USING SAMPLE 10
SELECT COUNT(*) FROM people POSITIONAL JOIN people
SELECT COUNT(*) FROM people ASOF JOIN people AS p ON people.age >= p.age
SELECT COUNT(*) FROM people, LATERAL (SELECT people.age) AS x
SELECT COUNT(*) FROM people CROSS JOIN people
SELECT COUNT(*) FROM people NATURAL JOIN people
SELECT COUNT(*) FROM people AS a JOIN people AS b ON a.kids = b.kids
SELECT COUNT(*) FROM people LEFT JOIN people AS b USING (kids)
SELECT COUNT(*) FROM people PIVOT (COUNT(*) FOR sex IN ('f', 'm'))
SELECT COUNT(*) FROM people UNPIVOT (x FOR y IN (age, kids))
FROM people
FROM people SELECT COUNT(*)
TABLE people
VALUES (1)
""".strip().split("\n")

STATEMENTS = """
DROP TABLE people
DELETE FROM people
UPDATE people SET age = 1
INSERT INTO people VALUES (1)
CREATE TABLE x AS SELECT * FROM people
CREATE MACRO f(a) AS a
CREATE FUNCTION f(a) AS a
CREATE VIEW v AS SELECT 1
ATTACH 'x.db' AS y
DETACH y
PRAGMA database_list
PRAGMA enable_profiling
SET memory_limit = '1TB'
RESET memory_limit
COPY people TO '/tmp/x'
COPY (SELECT COUNT(*) FROM people) TO '/tmp/x'
EXPORT DATABASE '/tmp/x'
IMPORT DATABASE '/tmp/x'
INSTALL httpfs
LOAD httpfs
CALL pragma_version()
EXECUTE stmt
PREPARE s AS SELECT 1
EXPLAIN SELECT COUNT(*) FROM people
EXPLAIN ANALYZE SELECT COUNT(*) FROM people
DESCRIBE people
SHOW TABLES
VACUUM
CHECKPOINT
BEGIN
COMMIT
GRANT ALL ON people TO public
ALTER TABLE people ADD COLUMN x INT
TRUNCATE people
MERGE INTO people USING people ON TRUE WHEN MATCHED THEN DELETE
SELECT COUNT(*) FROM people; DROP TABLE people
SELECT COUNT(*) FROM people; SELECT 1
SELECT COUNT(*) FROM people;;
; SELECT COUNT(*) FROM people
SELECT COUNT(*) FROM people INTO OUTFILE '/tmp/x'
SELECT COUNT(*) INTO x FROM people
SELECT COUNT(*) FROM people FOR UPDATE
WITH x AS (DELETE FROM people) SELECT COUNT(*) FROM x
WITH x AS (INSERT INTO people VALUES (1)) SELECT COUNT(*) FROM x
WITH RECURSIVE x AS (SELECT age FROM people UNION ALL SELECT age FROM x) SELECT COUNT(*) FROM x
WITH x AS MATERIALIZED (SELECT age FROM people) SELECT COUNT(*) FROM x
WITH x(a, b) AS (SELECT age, kids FROM people) SELECT COUNT(*) FROM x
WITH x AS (SELECT 1) SELECT COUNT(*) FROM x
WITH x AS (SELECT COUNT(*) FROM people) SELECT COUNT(*) FROM x
SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM people
SELECT COUNT(*) FROM people UNION ALL SELECT 1
SELECT COUNT(*) FROM people INTERSECT SELECT 1
SELECT COUNT(*) FROM people EXCEPT SELECT 1
(SELECT COUNT(*) FROM people)
SELECT
SELECT FROM people
SELECT COUNT(*)
SELECT 1
SELECT 'x' FROM people
SELECT NULL FROM people
SELECT COUNT(*) FROM
SELECT COUNT(* FROM people
SELECT COUNT(*)) FROM people
SELECT COUNT(*) FROM people WHERE
SELECT COUNT(*) FROM people GROUP BY
SELECT COUNT(*) FROM people ORDER BY
SELECT COUNT(*) FROM people LIMIT
SELECT COUNT(*) FROM people LIMIT 0
SELECT COUNT(*) FROM people LIMIT -1
SELECT COUNT(*) FROM people LIMIT 1.5
SELECT COUNT(*) FROM people LIMIT 10%
SELECT COUNT(*) FROM people LIMIT ALL
SELECT COUNT(*) FROM people LIMIT (SELECT 1)
SELECT COUNT(*) FROM people LIMIT random()
SELECT COUNT(*) FROM people LIMIT 10 OFFSET 5
SELECT COUNT(*) FROM people OFFSET 5
SELECT COUNT(*) FROM people FETCH FIRST 3 ROWS ONLY
SELECT COUNT(*) -- hidden
SELECT COUNT(*) FROM people WHERE age = $1
SELECT COUNT(*) FROM people WHERE age = ?
SELECT COUNT(*) FROM people WHERE age = :age
SELECT COUNT(*) FROM people WHERE age = @age
SELECT COUNT(*) FROM people WHERE sex = $$f$$
SELECT COUNT(*) FROM {{ people }}
SELECT COUNT(*) FROM people WHERE #1 = 1
""".strip().split("\n")

SHAPES = """
SELECT * FROM people
SELECT people.* FROM people
SELECT * EXCLUDE (age) FROM people
SELECT COLUMNS('.*') FROM people
SELECT *, COUNT(*) FROM people
SELECT age FROM people
SELECT age, COUNT(*) FROM people
SELECT sex, COUNT(*) FROM people
SELECT sex FROM people GROUP BY sex
SELECT sex, age, COUNT(*) FROM people GROUP BY sex
SELECT DISTINCT sex FROM people
SELECT DISTINCT COUNT(*) FROM people
SELECT DISTINCT ON (sex) COUNT(*) FROM people
SELECT person FROM people
SELECT person, COUNT(*) FROM people GROUP BY person
SELECT COUNT(*) FROM people GROUP BY person
SELECT COUNT(*) FROM people GROUP BY note
SELECT COUNT(*) FROM people GROUP BY income
SELECT COUNT(*) FROM people GROUP BY born
SELECT COUNT(*) FROM people GROUP BY price
SELECT COUNT(*) FROM people GROUP BY age * age * age
SELECT COUNT(*) FROM people GROUP BY ROLLUP (COUNT(*))
SELECT COUNT(*) FROM people GROUP BY CUBE (nobody)
SELECT COUNT(*) FROM people GROUP BY GROUPING SETS (())
SELECT COUNT(*) FROM people GROUP BY CUBE (sex, sex, sex, sex, sex, sex, sex, sex, sex, sex, sex, sex, sex, sex, sex)
SELECT COUNT(*) FROM people GROUP BY COUNT(*)
SELECT COUNT(*) FROM people GROUP BY 1
SELECT COUNT(*) FROM people GROUP BY 7
SELECT COUNT(*) FROM people GROUP BY 'sex'
SELECT COUNT(*) FROM people GROUP BY random()
SELECT COUNT(*) OVER () FROM people
SELECT SUM(age) OVER (PARTITION BY sex) FROM people
SELECT row_number() OVER (ORDER BY age) FROM people
SELECT LAG(age) OVER (ORDER BY age) FROM people
SELECT COUNT(DISTINCT person, sex) FROM people
SELECT COUNT(DISTINCT person || sex) FROM people
SELECT COUNT(person) FROM people
SELECT COUNT(note) FROM people
SELECT COUNT(nobody) FROM people
SELECT SUM(DISTINCT age) FROM people
SELECT AVG(DISTINCT age) FROM people
SELECT SUM(age ORDER BY kids) FROM people
SELECT SUM(person) FROM people
SELECT AVG(note) FROM people
SELECT SUM(sex) FROM people
SELECT SUM(born) FROM people
SELECT AVG(smoker + 1) FROM people
SELECT SUM() FROM people
SELECT SUM(age, kids) FROM people
SELECT MAX(age, 3) FROM people
SELECT ANY_VALUE(age) FROM people
SELECT FIRST(age) FROM people
SELECT LAST(age) FROM people
SELECT LIST(age) FROM people
SELECT ARRAY_AGG(age) FROM people
SELECT STRING_AGG(sex, ',') FROM people
SELECT GROUP_CONCAT(sex) FROM people
SELECT HISTOGRAM(age) FROM people
SELECT ARG_MAX(age, income) FROM people
SELECT MAX_BY(age, income) FROM people
SELECT BIT_XOR(age) FROM people
SELECT BOOL_AND(smoker) FROM people
SELECT PRODUCT(age) FROM people
SELECT CORR(age, age) FROM people
SELECT COVAR_POP(age, age) FROM people
SELECT REGR_SLOPE(age, age) FROM people
SELECT SKEWNESS(age) FROM people
SELECT KURTOSIS(age) FROM people
SELECT ENTROPY(age) FROM people
SELECT MAD(age) FROM people
SELECT APPROX_TOP_K(age, 3) FROM people
SELECT RESERVOIR_QUANTILE(age, 0.5) FROM people
SELECT QUANTILE(age, age) FROM people
SELECT QUANTILE_CONT(age, 0) FROM people
SELECT QUANTILE_CONT(age, 2) FROM people
SELECT QUANTILE_CONT(age, kids) FROM people
SELECT QUANTILE_CONT(age) FROM people
SELECT PERCENTILE_CONT(0.5) FROM people
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, kids) FROM people
SELECT LISTAGG(sex) WITHIN GROUP (ORDER BY sex) FROM people
SELECT MODE(age, kids) FROM people
SELECT SUM(SUM(age)) FROM people
SELECT AVG(COUNT(*)) FROM people
SELECT SUM((SELECT 1)) FROM people
SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM people) AS x
SELECT AVG(n) FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS x
SELECT AVG(n) FROM (SELECT MAX(age) AS n FROM people) AS x
SELECT COUNT(*) FROM (SELECT DISTINCT age FROM people) AS x
SELECT COUNT(*) FROM (SELECT age FROM people LIMIT 1) AS x
SELECT COUNT(*) FROM (SELECT age FROM people ORDER BY age) AS x
SELECT COUNT(*) FROM (SELECT age + 1 FROM people) AS x
SELECT COUNT(*) FROM (SELECT age, kids AS age FROM people) AS x
SELECT COUNT(*) FROM (SELECT note FROM people) AS x
SELECT COUNT(*) FROM (SELECT person + 1 AS p FROM people) AS x
SELECT COUNT(*) FROM (SELECT row_number() OVER () AS r FROM people) AS x
SELECT COUNT(*) FROM (SELECT age FROM people UNION SELECT 1) AS x
SELECT AVG(kids) FROM (SELECT age FROM people) AS x
SELECT AVG(people.age) FROM (SELECT age FROM people) AS x
SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1)
SELECT COUNT(*) FROM people WHERE age = (SELECT MAX(age) FROM people)
SELECT COUNT(*) FROM people WHERE age > ALL (SELECT 1)
SELECT COUNT(*) FROM people WHERE COUNT(*) > 5
SELECT COUNT(*) FROM people WHERE person = 'p1'
SELECT COUNT(*) FROM people WHERE note IS NULL
SELECT COUNT(*) FROM people WHERE random() < 0.5
SELECT COUNT(*) FROM people WHERE rowid = 5
SELECT COUNT(*) FROM people WHERE TRUE
SELECT COUNT(*) FROM people WHERE 1 = 1
SELECT COUNT(*) FROM people WHERE age
SELECT COUNT(*) FROM people WHERE age + 1
SELECT COUNT(*) FROM people WHERE sex SIMILAR TO 'f'
SELECT COUNT(*) FROM people WHERE regexp_matches(sex, '(a+)+$')
SELECT COUNT(*) FROM people WHERE sex LIKE 'f' ESCAPE '!'
SELECT COUNT(*) FROM people WHERE age BETWEEN kids AND 5
SELECT COUNT(*) FROM people WHERE age IN (kids)
SELECT COUNT(*) FROM people WHERE other.age = 1
SELECT COUNT(*) FROM people AS p WHERE people.age = 1
SELECT COUNT(*) FROM people WHERE sex = 'f' OR sex < 'm'
SELECT AVG(age) FROM people ORDER BY kids
SELECT sex, AVG(age) FROM people GROUP BY sex ORDER BY income
SELECT sex, AVG(age) FROM people GROUP BY sex ORDER BY COUNT(*)
SELECT sex, AVG(age) FROM people GROUP BY sex ORDER BY 3
SELECT sex, AVG(age) FROM people GROUP BY sex ORDER BY ALL
SELECT sex, AVG(age) FROM people GROUP BY sex ORDER BY random()
SELECT sex, AVG(age) FROM people GROUP BY sex ORDER BY sex COLLATE NOCASE
SELECT AVG(age) AS x, SUM(age) AS x FROM people
SELECT AVG(age), AVG(age) FROM people
SELECT AVG(age) AS x, SUM(age) AS x_low FROM people
SELECT sex AS x, AVG(age) AS x FROM people GROUP BY sex
SELECT AVG(age) AS sex, sex FROM people GROUP BY sex
SELECT COUNT(*) AS "" FROM people
""".strip().split("\n")

EXPRESSIONS = """
1 / income
age / 0
age * 1e200
income * 1e149
price * price * price * price * price
age & 1
age | 1
age << 60
~age
POWER(age, 300)
EXP(sex)
LN(income)
SIN(age)
FACTORIAL(age)
random()
RANDOM() * age
uuid()
nextval('x')
now()
current_date
current_timestamp
age(born)
getenv('HOME')
current_setting('x')
pg_sleep(10)
sleep(10)
version()
hash(age)
md5(sex)
sha256(person)
person
person + 1
CAST(person AS INT)
note
nobody
LOWER(sex)
sex || sex
CONCAT(sex, sex)
SUBSTRING(sex, 1, 1)
REGEXP_REPLACE(sex, 'a', 'b')
CAST(sex AS INT)
CAST(age AS VARCHAR)
CAST(age AS TINYINT) * 1000000000000000000
CAST(income AS TINYINT)
CAST(income AS DECIMAL(4,2))
CAST(age AS DECIMAL(38,10))
CAST(age AS INT[])
CAST(born AS INT)
CAST(age AS DATE)
CAST(age AS JSON)
CAST(age AS BLOB)
CAST('x' AS INT)
age::uuid
born + 1
born + INTERVAL 1 DAY
born - INTERVAL '1' YEAR
seen - seen
born - seen
DATE_TRUNC('month', born)
STRFTIME(born, '%Y')
EXTRACT(CENTURY FROM born)
EXTRACT(HOUR FROM born)
EXTRACT(YEAR FROM age)
EPOCH(seen)
MAKE_DATE(2020, 1, 1)
CASE WHEN age > 5 THEN 'x' ELSE 1 END
CASE WHEN age THEN 1 END
CASE WHEN age > 5 THEN NULL END
CASE age WHEN 'x' THEN 1 END
CASE WHEN (SELECT TRUE) THEN 1 END
COALESCE(age, sex)
COALESCE(NULL, NULL)
LEAST(sex, 'a')
GREATEST(age, born)
ABS(sex)
ABS(smoker)
ROUND(age, kids)
ROUND(income, 40)
ROUND(income, -2)
FLOOR(sex)
NULL
NULL + age
'x'
TRUE + 1
-sex
NOT age
(age, kids)
[age]
{'a': age}
age.x
people.age.x
sex[1]
x -> x + 1
(SELECT 1)
ARRAY[age]
STRUCT_PACK(a := age)
age COLLATE NOCASE
sex AT TIME ZONE 'UTC'
COUNT(*)
*
""".strip().split("\n")

DEEP = [
    f"SELECT AVG({' * '.join(['income'] * 30)}) FROM people",
    "SELECT AVG(" + "(" * 40 + "age" + ")" * 40 + ") FROM people",
    "SELECT AVG(" + "-" * 60 + "age) FROM people",
    "SELECT AVG(" + "- " * 700 + "age) FROM people",
    "SELECT AVG(" + "ABS(" * 400 + "age" + ")" * 400 + ") FROM people",
    "SELECT AVG(" + "age + " * 700 + "age) FROM people",
    "SELECT AVG(" + "age * " * 60 + "age) FROM people",
    "SELECT AVG(" + "CASE WHEN age > 1 THEN " * 100 + "1" + " END" * 100 + ") FROM people",
    "SELECT AVG(" + "CASE WHEN age > 1 THEN " * 300 + "1 FROM people",
    "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 50 + "people" + ")" * 50,
    "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 20 + "people" + " AS x)" * 20,
    "SELECT COUNT(*) FROM people WHERE " + "NOT " * 700 + "smoker",
    "SELECT COUNT(*) FROM people WHERE " + "(" * 700 + "smoker",
    "SELECT " + ", ".join(f"AVG(age + {i}) AS a{i}" for i in range(400)) + " FROM people",
    "WITH " + ", ".join(f"a{i} AS (SELECT age FROM people)" for i in range(100)) + " SELECT COUNT(*) FROM a0",
    "WITH a0 AS (SELECT age AS x FROM people), "
    + ", ".join(f"a{i} AS (SELECT LEAST(x + x, 5) AS x FROM a{i - 1})" for i in range(1, 11))
    + " SELECT AVG(x) FROM a10",
    "SELECT COUNT(*) FROM people WHERE age IN (" + "1, " * 3000 + "1)",
    "SELECT COUNT(*) FROM people" + " " * 8000,
    "x" * 9000,
    "SELECT " * 1500,
    "SELECT (" * 700,
    "WITH " * 1500,
    "SELECT COUNT(*) FROM people WHERE sex = '" + "x" * 9000 + "'",
    "SELECT COUNT(*) FROM people WHERE age = " + "9" * 5000,
    "SELECT COUNT(*) FROM people WHERE age = 1e" + "9" * 50,
    "SELECT QUANTILE_CONT(age, 0." + "9" * 5000 + ") FROM people",
    "SELECT AVG(age) AS " + "x" * 300 + " FROM people",
    "SELECT COUNT(*) FROM people\x00",
    "SELECT COUNT(*) FROM people WHERE sex = '\ud800'",
    "SELECT COUNT(*) FROM реople",
    "SELECT COUNT(*) FROM people\u2028; DROP TABLE people",
    "SELECT COUNT(*) FROM people WHERE аge = 1",
    "ＳＥＬＥＣＴ COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE sex = 'f",
    "SELECT COUNT(*) FROM people WHERE \"sex = 'f'",
    "",
    " ",
    "\n",
    "'",
    '"',
    "/*",
    "--",
]

HOSTILE = list(dict.fromkeys([*FILES, *STATEMENTS, *SHAPES, *(f"SELECT AVG({item}) FROM people" for item in EXPRESSIONS), *DEEP]))

# they look hostile and are harmless: names and constants only
LEGAL = [
    "SELECT APPROX_COUNT_DISTINCT(age) FROM people",
    "SELECT AVG(EXP(age)) FROM people",
    "SELECT COUNT(*) FROM people WHERE now() > seen",
    "SELECT QUANTILE_DISC(age, 0.5) FROM people",
    "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age) FROM people",
    "SELECT (SELECT COUNT(*) FROM people) FROM people",
    "SELECT QUANTILE_CONT(age, [0.25, 0.75]) FROM people",
    "SELECT COUNT(*) FROM people QUALIFY row_number() OVER () = 1",
    "SELECT APPROX_QUANTILE(age, 0.5) FROM people",
    "SELECT AVG(CAST(age AS FLOAT)) FROM people",
    "SELECT COUNT(*) FROM people WHERE sex = ''';DROP TABLE people;--'",
    "SELECT COUNT(*) FROM people WHERE sex = '/* x */' OR sex = '/etc/passwd'",
    "select count(*) from people",
    "SELECT COUNT(*) FROM (FROM people)",
    "SELECT COUNT(*) FROM people;",
    "SELECT\n\tCOUNT(*)\r\nFROM people\n",
    'SELECT COUNT(*) AS "DROP TABLE people" FROM people',
    'SELECT COUNT(*) FROM people AS "read_csv(x)" WHERE "read_csv(x)".age > 3',
    'WITH "/etc/passwd" AS (SELECT * FROM people) SELECT COUNT(*) FROM "/etc/passwd"',
    "WITH people AS (SELECT age AS kids FROM people) SELECT AVG(kids) FROM people",
    "SELECT AVG(" + "(" * 20 + "age" + ")" * 20 + ") FROM people",
    "SELECT AVG(" + "age + " * 30 + "age) AS a FROM people",
    "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 10 + "people" + " AS x)" * 10,
    "SELECT CASE WHEN sex = 'random()' THEN 'x''; --' ELSE '$1' END AS c, COUNT(*) FROM people GROUP BY c",
    "SELECT COUNT(*) FROM people WHERE " + " AND ".join(["age = 1"] * 300),
    "SELECT SUM(1), AVG(5), SUM(-2.5) FROM people",
    "SELECT COUNT(DISTINCT person) FROM people",
    "SELECT COUNT(DISTINCT age) FROM people",
    "SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)",
    "SELECT COUNT(*) FROM people GROUP BY CUBE (sex)",
    "SELECT COUNT(*) FROM people GROUP BY GROUPING SETS ((sex), ())",
    "SELECT COUNT(DISTINCT sex) FROM people",
    'SELECT AVG("people"."age") FROM "people"',
    "SELECT sex, COUNT(*) n FROM people GROUP BY sex ORDER BY n DESC, sex LIMIT 3",
    "SELECT AVG(CAST(seen AS DATE) - born) FROM people",
    "SELECT AVG(1e-3 * income), AVG(.5 * age) FROM people",
    "SELECT COUNT(*) FROM people -- hidden",
    "SELECT COUNT(*) /* hidden */ FROM people",
    "SELECT /*+ PARALLEL(8) */ COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people GROUP BY ALL",
    "SELECT COUNT(*) FROM people GROUP BY LOWER(sex)",
    "SELECT COUNT(*) FILTER (WHERE age > 5) FROM people",
    "SELECT COUNT(*) FROM people WHERE sex ILIKE 'f'",
    "SELECT AVG(age % 2) FROM people",
    "SELECT AVG(age // 2) FROM people",
    "SELECT AVG(age ** 2) FROM people",
    "SELECT AVG(age ^ 2) FROM people",
    "SELECT AVG(SQRT(age)) FROM people",
    "SELECT AVG(LENGTH(sex)) FROM people",
    "SELECT AVG(DATE_PART('year', born)) FROM people",
    "SELECT AVG(IF(age > 5, 1, 2)) FROM people",
    "SELECT AVG(IIF(age > 5, 1, 2)) FROM people",
]
