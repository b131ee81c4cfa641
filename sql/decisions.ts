import {z} from 'zod'
import {type Db, type Hot, prepare, sql, type Tx} from './database.ts'

/** What one question is about: which of several records a row's match, or a cell's lookup, means. */
export type QuestionKind = 'match' | 'lookup'
/** `ask`: no rule any more. `first`: the oldest of the records that match. `create`: of a lookup, that the row is written without the link. */
type Choice = 'record' | 'create' | 'skip' | 'first' | 'ask'

/** `key`: of one question; null where the choice is the rule for all of the flow's of this kind. */
export type NewDecision = {flowId: string; kind: QuestionKind; key: Buffer | null; choice: Choice; recordId: string | null}

type Decided = {importNo: number; person: string | null; decisions: NewDecision[]}

/** The last answer to a question is the one that holds, and an answer of its own goes before a rule. */
export const insertDecisions = async (tx: Tx, {importNo, person, decisions}: Decided): Promise<void> => {
  for (const {flowId, kind, key, choice, recordId} of decisions)
    await tx.query(sql.type(z.object({}))`
      insert into decisions (import_no, flow_id, kind, question_key, choice, record_id, decided_by)
      values (${importNo}, ${flowId}, ${kind}, ${key && sql.binary(key)}, ${choice}, ${recordId}, ${person})`)
}

/** What a run begun now would know; 0 where nobody has decided anything. */
export const findLastDecision = (db: Db, importNo: number) =>
  db.oneFirst(sql.type(z.object({no: z.number()}))`
    select coalesce(max(decision_no), 0) as no from decisions where import_no = ${importNo}`)

export type Decision = {key: Buffer; choice: Choice; recordId: string | null}

type Wanted = {importNo: number; upTo: number; flowId: string; kind: QuestionKind; keys: Buffer[]}

/** What was decided of these questions up to decision `upTo`: their own answers, else the flow's rule. Those without either are absent. */
export const findDecisions = (hot: Hot, {importNo, upTo, flowId, kind, keys}: Wanted) =>
  findDecisionsStatement(hot, [importNo, upTo, flowId, kind, keys])

const findDecisionsStatement = prepare<Decision>(
  'find-decisions',
  `select k.key, d.choice, d.record_id as "recordId" from unnest($5::bytea[]) as k(key)
   cross join lateral (
     select choice, record_id from decisions
     where import_no = $1::bigint and decision_no <= $2::bigint and flow_id = $3 and kind = $4 and (question_key = k.key or question_key is null)
     order by question_key is null, decision_no desc limit 1) d
   where d.choice <> 'ask'`,
)

const Rule = z.object({flowId: z.string(), kind: z.enum(['match', 'lookup']), choice: z.enum(['create', 'skip', 'first'])})

/** The rules that hold now, one for each flow and kind at most. */
export const listRules = (db: Db, importNo: number) =>
  db.any(sql.type(Rule)`
    select * from (
      select distinct on (flow_id, kind) flow_id as "flowId", kind, choice from decisions
      where import_no = ${importNo} and question_key is null order by flow_id, kind, decision_no desc) rules
    where choice <> 'ask' order by "flowId", kind`)
