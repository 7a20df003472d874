/**
 * The first half of a bare search, by hand: the postings of the query's terms (`p`) and what each term weighs (`w`). Parameters: owner, scope,
 * terms.
 */
export const weighedPostings = (schema: string): string => `with p as materialized (
  select term, entry, segment, offsets, impacts from ${schema}.search_postings
  where owner = $1 and scope_key = hashtextextended($2, 0) and term = any ($3::text[])
), n as (select sum(chunks)::float8 as n from ${schema}.search_entries where owner = $1 and scope = $2),
w as materialized (
  select term, ln(1 + (n - df + 0.5) / (df + 0.5)) as idf
  from (select term, sum(cardinality(offsets))::float8 as df from p group by term) c, n
)`
