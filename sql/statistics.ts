import type {Hot} from './database.ts'

const tables = ['admissions', 'sends', 'run_log', 'chain_rows', 'unsettled']

/**
 * A young table has no statistics, and named statements on it slow down with every row: the engine asks for them itself, of the
 * tables that Postgres believes to hold fewer rows than `fewerThan`. One that other runs filled long ago is left to the autovacuum.
 */
export const refreshStatistics = async (hot: Hot, {fewerThan}: {fewerThan: number}): Promise<string[]> => {
  const {rows} = await hot.query<{name: string}>(
    'select relname as name from pg_class where oid = any($1::text[]::regclass[]) and reltuples < $2::float4',
    [tables, fewerThan],
  )
  const young = rows.map(({name}) => name)
  if (young.length) await hot.query(`analyze ${young.join(', ')}`)
  return young
}
