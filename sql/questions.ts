import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import type {QuestionKind} from './decisions.ts'

/**
 * A question to insert, about a row that waits for a user's answer. `key`: a digest of the question, which all rows and runs with the same question
 * share. `module`: the API name of the candidates' module. `field`: set for a lookup and for an edited value. `found`: the number of matching
 * records.
 */
export type NewQuestion = {
  key: Buffer
  kind: QuestionKind
  flowId: string
  module: string
  field: string | null
  candidates: string[]
  found: number
  number: number
}

/** The maximum number of stored candidates of a question. The first ones are kept, which are the oldest. */
export const mostCandidates = 20

/** Inserts questions and the rows that wait for them. `tx` must be the transaction that settles these rows. */
export const insertQuestions = (tx: Tx, {run, asked}: {run: number; asked: NewQuestion[]}) => {
  const rows = asked.map(({key, candidates, ...rest}) => ({
    ...rest,
    key: key.toString('hex'),
    candidates: candidates.slice(0, mostCandidates),
  }))
  return tx.query(sql.type(z.object({}))`
    with asked as (
      select decode(key, 'hex') as key, kind, "flowId", module, field, candidates, found, number
      from jsonb_to_recordset(${sql.jsonb(rows)})
        as r(key text, kind text, "flowId" text, module text, field text, candidates text[], found bigint, number bigint)),
    added as (
      insert into questions (run_no, question_key, kind, flow_id, module, field, candidates, found)
      select distinct on (key) ${run}, key, kind, "flowId", module, field, candidates, found from asked order by key, found desc
      on conflict (run_no, question_key) do nothing)
    insert into question_rows (run_no, question_key, row_number) select ${run}, key, number from asked
    on conflict do nothing`)
}

export const OpenRowQuestion = z.object({
  key: z.string(),
  kind: z.enum(['match', 'lookup', 'edit']),
  flowId: z.string(),
  module: z.string(),
  field: z.string().nullable(),
  candidates: z.array(z.string()),
  found: z.number(),
  rows: z.number(),
  /** The numbers of the question's first 20 rows. */
  numbers: z.array(z.number()),
  choice: z.enum(['record', 'create', 'skip', 'first', 'ask', 'overwrite', 'keep']).nullable(),
  recordId: z.string().nullable(),
  decidedBy: z.string().nullable(),
  decidedAt: z.string().nullable(),
})
export type OpenRowQuestion = z.infer<typeof OpenRowQuestion>

type Page = {run: number; importNo: number; decidedUpTo: number; after: string | null; limit: number}

/**
 * Lists the run's questions in the order of their keys. Each has its last answer after decision `decidedUpTo`, but no answer of a rule. Earlier
 * answers did not resolve the question.
 */
export const listQuestions = (db: Db, {run, importNo, decidedUpTo, after, limit}: Page) =>
  db.any(sql.type(OpenRowQuestion)`
    select encode(q.question_key, 'hex') as key, q.kind, q.flow_id as "flowId", module, field, candidates, found, waiting.rows, waiting.numbers,
      d.choice, d.record_id as "recordId", d.decided_by as "decidedBy", d.decided_at as "decidedAt"
    from questions q
    cross join lateral (
      select count(*) as rows, (array_agg(row_number order by row_number))[1:20] as numbers
      from question_rows w where w.run_no = q.run_no and w.question_key = q.question_key) waiting
    left join lateral (
      select choice, record_id, decided_by, decided_at from decisions d
      where d.import_no = ${importNo} and d.decision_no > ${decidedUpTo} and d.flow_id = q.flow_id and d.kind = q.kind
        and d.question_key = q.question_key
      order by decision_no desc limit 1) d on true
    where q.run_no = ${run} and (${after}::text is null or q.question_key > decode(${after}, 'hex'))
    order by q.question_key limit ${limit}`)

const Named = z.object({
  key: z.string(),
  kind: z.enum(['match', 'lookup', 'edit']),
  flowId: z.string(),
  candidates: z.array(z.string()),
  found: z.number(),
})

export const findQuestions = (db: Db, {run, keys}: {run: number; keys: string[]}) =>
  db.any(sql.type(Named)`
    select encode(question_key, 'hex') as key, kind, flow_id as "flowId", candidates, found from questions
    where run_no = ${run} and question_key = any(array(select decode(key, 'hex') from unnest(${sql.array(keys, 'text')}) as key))`)

/** The last decision that a run knows. Later decisions apply to a retry. */
const decidedUpTo = sql.fragment`
  coalesce((select (document ->> 'decidedUpTo')::bigint from run_snapshots s where s.snapshot_no = runs.snapshot_no), 0)`

/** SQL that counts the questions of a run that were answered, directly or by a rule, after the last decision that the run knows. */
export const answeredQuestions = sql.fragment`(
    select count(*) from questions q where q.run_no = runs.run_no and (
      exists (
        select from decisions d where d.import_no = runs.import_no and d.question_key = q.question_key and d.flow_id = q.flow_id
          and d.kind = q.kind and d.decision_no > ${decidedUpTo})
      or exists (
        select from (
          select distinct on (d.field) d.choice from decisions d
          where d.import_no = runs.import_no and d.question_key is null and d.flow_id = q.flow_id and d.kind = q.kind
            and (d.field is null or d.field = q.field) and d.decision_no > ${decidedUpTo}
          order by d.field, d.decision_no desc) newest
        where choice <> 'ask')))`
