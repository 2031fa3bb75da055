"""Texts a hostile analyst might write in place of a filter. None of them may be accepted, crash, log or take long."""

FILES = """
age = 1 FROM '/etc/passwd'
'/etc/passwd'
"/etc/passwd" = 1
age IN (SELECT * FROM '/etc/passwd')
age IN (FROM '/etc/passwd')
age IN (TABLE people)
EXISTS (SELECT 1 FROM 'other.parquet')
read_csv('/etc/passwd') = 1
read_text('/etc/passwd') IS NULL
read_parquet('*') = age
age = (SELECT max(age) FROM people)
age = (SELECT 1)
age > ALL (SELECT age FROM t)
age > ANY (SELECT age FROM t)
age = SOME (SELECT 1)
(SELECT count(*) FROM people) > 5
sex IN (SELECT sex FROM other)
sex = (TABLE secrets)
getenv('HOME') = sex
glob('/etc/*') = sex
age IN (VALUES (1))
WITH x AS (SELECT 1) SELECT * FROM x
SELECT 1
SELECT * FROM people WHERE age = 1
FROM people
people
people.age
other.age = 1
main.people.age = 1
db.main.people.age = 1
people.* = 1
* = 1
*
COLUMNS(*) = 1
COLUMNS('.*') IS NULL
""".strip().split("\n")

STATEMENTS = """
age = 1; DROP TABLE people
age = 1;
;
; age = 1
age = 1; SELECT 1
DROP TABLE people
DELETE FROM people
UPDATE people SET age = 1
INSERT INTO people VALUES (1)
CREATE TABLE x (a int)
CREATE MACRO f(a) AS a
ATTACH 'x.db' AS y
DETACH y
PRAGMA database_list
SET memory_limit = '1TB'
RESET memory_limit
COPY people TO '/tmp/x'
EXPORT DATABASE '/tmp/x'
INSTALL httpfs
LOAD httpfs
CALL pragma_version()
EXECUTE stmt
EXPLAIN SELECT 1
DESCRIBE people
SHOW TABLES
SUMMARIZE people
VACUUM
CHECKPOINT
USE other
BEGIN
COMMIT
ROLLBACK
GRANT ALL ON people TO public
ALTER TABLE people ADD COLUMN x int
TRUNCATE people
KILL 1
IF age = 1
IF(age = 1, TRUE, FALSE)
age = 1 ATTACH 'x'
age = 1 PRAGMA x
age = 1 UNION SELECT 1
age = 1 INTERSECT SELECT 1
age = 1 EXCEPT SELECT 1
age = 1 ORDER BY age
age = 1 LIMIT 1
age = 1 OFFSET 1
age = 1 GROUP BY age
age = 1 HAVING count(*) > 1
age = 1 QUALIFY row_number() OVER () = 1
age = 1 WINDOW w AS ()
age = 1 RETURNING *
age = 1 INTO OUTFILE '/tmp/x'
age = 1 USING SAMPLE 10
age = 1 TABLESAMPLE 10
age = 1 AS x
age = 1 x
age = 1, sex = 'f'
WHERE age = 1
AND age = 1
age = 1 AND
OR
NOT
()
(age = 1
age = 1)
((age = 1)
age = 1))
""".strip().split("\n")

FUNCTIONS = """
random() < 0.5
rand() < 0.5
uuid() = sex
now() > seen
current_date > born
current_timestamp > seen
current_user = sex
session_user = sex
localtime = seen
version() = sex
abs(age) = 1
lower(sex) = 'f'
upper(sex) = 'F'
length(sex) > 2
substring(sex, 1, 1) = 'f'
substring(sex FROM 1 FOR 1) = 'f'
trim(sex) = 'f'
position('f' IN sex) = 1
extract(year FROM born) = 2000
year(born) = 2000
date_part('year', born) = 2000
date_trunc('year', born) = '2000-01-01'
date('2020-01-01') = born
coalesce(age, 1) = 1
nullif(age, 1) = 1
greatest(age, 1) = 1
hash(sex) = 1
md5(sex) = 'x'
regexp_matches(sex, 'f')
error('x')
sleep(10)
pg_sleep(10) IS NULL
my_udf(age) = 1
main.my_udf(age) = 1
count(*) > 1
sum(age) > 1
max(age) OVER () = age
row_number() OVER (ORDER BY age) = 1
rank() OVER (PARTITION BY sex) = 1
lag(age) OVER () = 1
list_contains([1, 2], age)
struct_pack(a := 1) = 1
unnest([1]) = 1
CAST(age AS text) = '1'
CAST('2020-01-01' AS date) = born
TRY_CAST(sex AS int) = 1
CONVERT(sex, int) = 1
age::text = '1'
'2020-01-01'::date = born
sex::int = 1
1/0 = age
age / 0 = 1
age + 1 = 2
age - 1 = 2
age * 2 = 2
age % 2 = 0
age ^ 2 = 4
age ** 2 = 4
age // 2 = 1
age << 1 = 2
age & 1 = 1
age | 1 = 1
~age = 1
-age = 1
- - age = 1
age = 1 + 1
age = -(-1)
age = - - 1
sex || 'x' = 'fx'
sex || sex = 'ff'
CASE WHEN age = 1 THEN TRUE END
CASE age WHEN 1 THEN TRUE ELSE FALSE END
age = CASE WHEN TRUE THEN 1 END
sex ILIKE 'f'
sex NOT ILIKE 'f'
sex SIMILAR TO 'f'
sex ~ 'f'
sex !~ 'f'
sex ~* 'f'
sex GLOB 'f*'
sex RLIKE 'f'
sex REGEXP 'f'
sex LIKE 'f!%' ESCAPE '!'
sex LIKE ANY ('f', 'm')
sex LIKE ALL ('f')
sex LIKE sex
sex LIKE 5
sex LIKE NULL
age LIKE '1%'
sex COLLATE nocase = 'f'
sex = 'f' COLLATE nocase
age <=> 1
age IS DISTINCT FROM 1
age IS NOT DISTINCT FROM 1
age IS TRUE
smoker IS TRUE
smoker IS NOT FALSE
age IS 5
age IS NULL IS NULL
age = 1 = 1
age = 1 = TRUE
(age = 1) = (kids = 1)
(age = 1) IS NULL
NOT (age = 1) = TRUE
age < kids < 5
(age, kids) = (1, 2)
(age, kids) IN ((1, 2))
age IN ()
age IN 1
age IN (1, NULL)
age IN (kids)
age IN (1, kids)
age IN (1 + 1)
age IN [1, 2]
age IN ('a')
age BETWEEN 1 AND kids
age BETWEEN kids AND 5
age BETWEEN NULL AND 5
age BETWEEN SYMMETRIC 5 AND 1
age BETWEEN 1
age BETWEEN 1 AND
age BETWEEN 1 OR 5
5 BETWEEN 1 AND age
sex BETWEEN 'a' AND 'b'
smoker BETWEEN FALSE AND TRUE
age NOT 5
age = NOT 5
age NOT NOT IN (1)
age OVERLAPS kids
age && kids
age @> kids
age -> 'x' = 1
age ->> 'x' = 1
sex[1] = 'f'
sex[1:2] = 'f'
age.field = 1
{'a': 1} = age
{% raw %} age = 1
{{ age }} = 1
ARRAY[1] = age
MAP {'a': 1} = age
x -> x + 1
lambda x: x
age = INTERVAL 1 DAY
born > '2020-01-01' + INTERVAL '1 day'
born - born = 1
age = 1 XOR kids = 1
age = 1 && kids = 1
age = 1 || kids = 1
!age
! age = 1
age = @x
age = @@version
age = :p
age = ?
age = ?1
age = $1
age = $name
age = %s
age = %(x)s
age = #1
#1 = age
""".strip().split("\n")

CONSTANTS = """
1
0
-1
'x'
TRUE
FALSE
NULL
1 = 1
'a' = 'a'
TRUE = TRUE
NULL = NULL
1 = 1 OR age = 1
TRUE OR age = 1
age = NULL
NULL = age
age <> NULL
age = 1.5
kids <> 0.1
age = 1e999999999
income < 1e999999999
income < 1e-999999999
income = 1e301
age = 99999999999999999999999999
price = 1e39
income = 0x10
income = 0b1
income = 0o7
income = 1L
income = 1.2.3
income = 1e
income = 1e5.5
income = NaN
income = inf
income = -inf
income = 'nan'
income = infinity
income = １
age = '1'
sex = 1
sex = TRUE
sex = f
sex = "f"
sex < 'f'
sex > 'f'
smoker = 1
smoker = 'true'
smoker > FALSE
born = 1
born = '2020'
born = '2020-13-01'
born = '2021-02-29'
born = '20200101'
born = 'yesterday'
born = DATE '2020-02-30'
born = DATE 5
born = TIMESTAMP '2020-01-01'
born = TIME '10:00'
born = seen
seen = 5
seen = '10:00'
seen = TIMESTAMP 'now'
seen = '2020-01-01 25:00:00'
seen = TIMESTAMP '2020-01-01 00:00:00.1234567'
income = sex
age = smoker
age
sex
NOT age
age AND kids
age OR sex = 'f'
person = 'p1'
person IS NULL
person = person
note = 'x'
note IS NOT NULL
note LIKE '%'
nothing = 1
Age = 1
AGE = 1
"Age" = 1
rowid = 1
_rowid_ = 1
filename = 'x'
oid = 1
ctid = 1
""".strip().split("\n")

TEXTS = [
    "age = 1 -- comment",
    "age = 1 /* comment */",
    "/* */ age = 1",
    "-- x\nage = 1",
    "age /**/ = 1",
    "age = 1 # comment",
    "age = 1 //",
    "/*+ HINT */ age = 1",
    "age = 1 /* unclosed",
    "--",
    "/**/",
    "age = --1\n1",
    "{# x #} age = 1",
    "age = 1 /* /* nested */ */",
    "age = 'x",
    'age = "x',
    "age = `1`",
    "`age` = 1",
    "[age] = 1",
    "sex = 'f''",
    "sex = ''f'",
    "'",
    '"',
    "''",
    '""',
    '"" = 1',
    "'''",
    "sex = $$f$$",
    "sex = $x$f$x$",
    "sex = E'f'",
    "sex = e'\\x00'",
    "sex = N'f'",
    "sex = X'66'",
    "sex = B'1'",
    "sex = U&'\\0066'",
    "sex = r'f'",
    "sex = b'f'",
    "sex = 'a' 'b'",
    "sex = _utf8'f'",
    "",
    " ",
    "\n\t",
    "\x00",
    "age\x00 = 1",
    "age = 1\x00",
    "sex = 'f\x00'",
    "\ud800 = 1",
    "sex = '\udfff'",
    "age = 1\ufeff",
    "\ufeffage = 1",
    "\u202eage = 1",
    "аge = 1",
    "ａｇｅ = 1",
    "agе = 1",
    "a\u200bge = 1",
    "age\u0301 = 1",
    "age ＝ 1",
    "age = 1 ＡＮＤ kids = 1",
    "sex = ‘f’",
    "sex = “f”",
    "sex ＝ 'f'",
    "age ≥ 1",
    "age ≠ 1",
    "age = ①",
    "age = ١",
    "age = 1；DROP",
    "ſex = 'f'",
    "ℹ = 1",
    "K = 1",
    "😀",
    "😀 = 1",
    "age = 😀",
    "age = 1 \\",
    "\\",
    "\\g",
    ".help",
    ".read x",
    "!ls",
    "age = 1 |",
    "|",
    "(" * 31 + "age = 1" + ")" * 31,
    "(" * 5000,
    ")" * 5000,
    "NOT " * 31 + "age = 1",
    "NOT " * 1900 + "a",
    "NOT (" * 20 + "age = 1" + ")" * 20,
    "- " * 3000 + "1",
    "age = " + "- " * 3000 + "1",
    "age = " + "+" * 5000 + "1",
    "[" * 5000,
    "{" * 5000,
    "CASE " * 1500,
    "CASE WHEN " * 700,
    "(SELECT " * 900,
    "f(" * 2000,
    "f(" * 900 + ")" * 900,
    "~" * 7000,
    "!" * 7000,
    "@" * 7000,
    "a." * 3900,
    "age." * 1900,
    "age = " * 1300,
    "1." * 3900,
    "age AND " * 900,
    "age = 1 AND " * 600,
    "age = 1 OR " * 700,
    "(age = 1 AND " * 500,
    "age IN (" * 900,
    "age BETWEEN " * 600,
    "age IN (" + "1," * 3900,
    "age IN (" + "(" * 3000,
    "sex LIKE '" * 700,
    "'" * 7999,
    '"' * 7999,
    "''" * 3999,
    "x" * 7999,
    "x" * 8001,
    "age = " + "9" * 61,
    "age = " + "9" * 7000,
    "income = 0." + "1" * 7000,
    "income = 1e" + "9" * 100,
    "age = 1" + " " * 8000,
    "a " * 3900,
    "INTERVAL " * 800,
    "ANY " * 1900,
    "ARRAY " * 1300,
    "age -> " * 1100,
    "age :: " * 1100,
    "DATE " * 1500,
    "DATE '2020-01-01' " * 400,
    "EXISTS (" * 900,
    "$$" * 3999,
    "$a$" * 2600,
    "/*" * 3999,
    "--" * 3999,
    ";" * 7999,
    ",(" * 3999,
    "\\" * 7999,
    "\n" * 7999,
    "\x01" * 7999,
    "é" * 7999,
    "\u2028" * 7999,
    "age = 1\u2028OR 1 = 1",
    "age = 1\rDROP TABLE x",
    "connect_by_root " * 450,
    "age = 1 AND (age = 1 OR (" * 200,
    "NOT(" * 1500,
    "*" * 7999,
    "%" * 7999,
    "?" * 7999,
    "<" * 7999,
    "=" * 7999,
    "#" * 7999,
    "`" * 7999,
    ":" * 7999,
]

HOSTILE = list(dict.fromkeys([*FILES, *STATEMENTS, *FUNCTIONS, *CONSTANTS, *TEXTS]))

# they look hostile and are harmless: names and constants only
LEGAL = [
    "sex = ''';DROP TABLE people;--'",
    "sex = '/* x */'",
    "sex = '--'",
    "sex = '/etc/passwd'",
    "sex = '\\'",
    "sex = 'a\nb'",
    "sex = 'random()'",
    "sex LIKE '%'';--'",
    "sex = ''",
    '"odd \'name""" = \'x\'',
    "age = 1\n\tAND\r\nkids=2",
    "age=-1",
    "income=-.5e-10",
    "age IN (1,1,1)",
    "(" * 30 + "age = 1" + ")" * 30,
    "NOT " * 30 + "age = 1",
    "age\u00a0= 1",
    "sex = '\u202e'",
    "sex = 'аge'",
    "people.age = 1",
    "age IN (" + ",".join(str(number) for number in range(700)) + ")",
    " AND ".join(["age = 1"] * 370),
    "born = DATE '2020-01-01'",
    "seen >= TIMESTAMP '2020-01-01 00:00:00+14:00'",
    "seen < DATE '2020-01-01'",
    "age >= +5",
    "TRUE = smoker",
    "smoker",
    "not not smoker",
    "age isnull",
    "age notnull",
    "age == 1",
    "income < 1e300",
    "sex = '😀'",
    "age = 1 and not kids in (2) or smoker",
]
