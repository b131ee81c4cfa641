import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'

/** `found`: how many records a value names, of which `candidates` are the oldest; -1 where the CRM cannot be asked about it. */
export type LookupAnswer = {found: number; candidates: string[]}
export type KeptAnswer = LookupAnswer & {hash: Buffer}

type Wanted = {run: number; lookup: number; hashes: Buffer[]}

/** Of these values, those the run has an answer for. */
export const findAnswers = (hot: Hot, {run, lookup, hashes}: Wanted) => findAnswersStatement(hot, [run, lookup, hashes])

const findAnswersStatement = prepare<KeptAnswer>(
  'find-lookup-answers',
  `select value_hash as hash, found, candidates from run_lookups
   where run_no = $1::bigint and lookup_no = $2::smallint and value_hash = any($3::bytea[])`,
)

/** Keeps answers and says which hold: where another owner of the run kept one before, that one. */
export const keepAnswers = async (hot: Hot, {run, lookup, answers}: {run: number; lookup: number; answers: KeptAnswer[]}) =>
  keepAnswersStatement(hot, [run, lookup, JSON.stringify(answers.map(({hash, ...rest}) => ({...rest, hash: hash.toString('hex')})))])

/** The update changes nothing: it is there so that the statement answers the row that was kept before. */
const keepAnswersStatement = prepare<KeptAnswer>(
  'keep-lookup-answers',
  `insert into run_lookups (run_no, lookup_no, value_hash, found, candidates)
   select $1::bigint, $2::smallint, decode(hash, 'hex'), found, candidates
   from jsonb_to_recordset($3::jsonb) as a(hash text, found int, candidates text[]) order by 3
   on conflict (run_no, lookup_no, value_hash) do update set found = run_lookups.found
   returning value_hash as hash, found, candidates`,
)

/** Once the run has ended, in pieces. Answers how many went. */
export const deleteAnswers = async (db: Db, {run, limit}: {run: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from run_lookups where ctid = any(array(select ctid from run_lookups where run_no = ${run} limit ${limit}))`)
  return rowCount
}
