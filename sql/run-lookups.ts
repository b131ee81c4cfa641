import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'

/**
 * The records that a lookup finds for one value. `found`: their number, or -1 if the CRM cannot search for the value. `candidates`: the ids of
 * the oldest of these records, at most 20.
 */
export type LookupAnswer = {found: number; candidates: string[]}
export type KeptAnswer = LookupAnswer & {hash: Buffer}

type LookupsQuery = {run: number; lookup: number; hashes: Buffer[]}

export const findAnswers = (hot: Hot, {run, lookup, hashes}: LookupsQuery) => findAnswersStatement(hot, [run, lookup, hashes])

const findAnswersStatement = prepare<KeptAnswer>(
  'find-lookup-answers',
  `select value_hash as hash, found, candidates from run_lookups
   where run_no = $1::bigint and lookup_no = $2::smallint and value_hash = any($3::bytea[])`,
)

/** Stores answers and returns the valid ones. If another owner of the run stored an answer before, the earlier answer is valid. */
export const keepAnswers = async (hot: Hot, {run, lookup, answers}: {run: number; lookup: number; answers: KeptAnswer[]}) =>
  keepAnswersStatement(hot, [run, lookup, JSON.stringify(answers.map(({hash, ...rest}) => ({...rest, hash: hash.toString('hex')})))])

/** Inserts answers. On a conflict, the update changes nothing. It only makes the statement return the row that was stored before. */
const keepAnswersStatement = prepare<KeptAnswer>(
  'keep-lookup-answers',
  `insert into run_lookups (run_no, lookup_no, value_hash, found, candidates)
   select $1::bigint, $2::smallint, decode(hash, 'hex'), found, candidates
   from jsonb_to_recordset($3::jsonb) as a(hash text, found int, candidates text[]) order by 3
   on conflict (run_no, lookup_no, value_hash) do update set found = run_lookups.found
   returning value_hash as hash, found, candidates`,
)

export const deleteAnswers = async (db: Db, {run, limit}: {run: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from run_lookups where ctid = any(array(select ctid from run_lookups where run_no = ${run} limit ${limit}))`)
  return rowCount
}
