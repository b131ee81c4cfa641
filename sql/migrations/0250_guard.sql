-- The guard of a run: shares of rows per outcome beyond which it is held. `guard_since`: the counts when the run was last resumed.
-- `held`: why the run is held; null if it is not.
alter table run_heads add column guard jsonb;
alter table run_heads add column guard_since bigint[] not null default '{}';
alter table run_heads add column held jsonb;

-- Returns the outcome that exceeds the guard the most, or null. `counts` are those of run_heads; their positions modulo 16 are the outcomes
-- created, updated, refused, unanswered and failed (0, 1, 2, 3 and 5). Fewer than 50 settled rows are no basis.
create function guard_breach(guard jsonb, counts bigint[], since bigint[]) returns jsonb language sql immutable as $$
  with counted as (
    select (n - 1) % 16 as outcome, sum(coalesce(x, 0) - coalesce(y, 0)) as rows from unnest(counts, since) with ordinality as t(x, y, n) group by 1),
  settled as (select coalesce(sum(rows), 0) as rows from counted where outcome in (0, 1, 2, 3, 5))
  select jsonb_build_object('outcome', l.name, 'rows', c.rows, 'settled', s.rows, 'limit', l.share)
  from settled s, (values ('refused', 2, (guard ->> 'refused')::float8), ('unanswered', 3, (guard ->> 'unanswered')::float8),
    ('failed', 5, (guard ->> 'failed')::float8)) as l(name, outcome, share)
  join counted c on c.outcome = l.outcome
  where s.rows >= 50 and c.rows > l.share * s.rows
  order by c.rows - l.share * s.rows desc limit 1
$$;
