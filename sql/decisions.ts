import {z} from 'zod'
import {type Db, type Hot, prepare, sql, type Tx} from './database.ts'

/**
 * The kind of a question. `match` and `lookup`: which of several records a row's match or a cell's lookup means. `edit`: whether to overwrite a
 * value that a person edited.
 */
export type QuestionKind = 'match' | 'lookup' | 'edit'
/**
 * The user's choice. `ask` removes a rule. `first` takes the oldest matching record. `create` creates a record; for a lookup, the row is
 * written without the link. `overwrite` and `keep` answer questions about edited values.
 */
type Choice = 'record' | 'create' | 'skip' | 'first' | 'ask' | 'overwrite' | 'keep'

/**
 * An answer of a user. `key`: the question that the user answers. Null for a rule, which answers all questions of this kind in the flow, or only
 * those about `field` if it is set.
 */
export type NewDecision = {
  flowId: string
  kind: QuestionKind
  key: Buffer | null
  field?: string | null
  choice: Choice
  recordId: string | null
}

type NewDecisions = {importNo: number; person: string | null; decisions: NewDecision[]}

/** Inserts answers. The last answer to a question applies. An answer to the question itself takes precedence over a rule. */
export const insertDecisions = async (tx: Tx, {importNo, person, decisions}: NewDecisions): Promise<void> => {
  for (const {flowId, kind, key, field = null, choice, recordId} of decisions)
    await tx.query(sql.type(z.object({}))`
      insert into decisions (import_no, flow_id, kind, question_key, field, choice, record_id, decided_by)
      values (${importNo}, ${flowId}, ${kind}, ${key && sql.binary(key)}, ${field}, ${choice}, ${recordId}, ${person})`)
}

/** Finds the number of the last decision; 0 if there is none. A run uses the decisions up to the number at its start. */
export const findLastDecision = (db: Db, importNo: number) =>
  db.oneFirst(sql.type(z.object({no: z.number()}))`
    select coalesce(max(decision_no), 0) as no from decisions where import_no = ${importNo}`)

export type Decision = {key: Buffer; choice: Choice; recordId: string | null}

/** `fields`: the field of each question, if rules about a field apply. */
type DecisionsQuery = {importNo: number; upTo: number; flowId: string; kind: QuestionKind; keys: Buffer[]; fields?: string[]}

/**
 * Finds the decisions about these questions up to number `upTo`: the answer to the question itself, otherwise the rule about its field,
 * otherwise the rule of the flow. Questions without a decision are omitted.
 */
export const findDecisions = (hot: Hot, {importNo, upTo, flowId, kind, keys, fields = []}: DecisionsQuery) =>
  findDecisionsStatement(hot, [importNo, upTo, flowId, kind, keys, fields])

const findDecisionsStatement = prepare<Decision>(
  'find-decisions',
  `select k.key, d.choice, d.record_id as "recordId" from unnest($5::bytea[], $6::text[]) as k(key, field)
   cross join lateral (
     select choice, record_id from (
       select distinct on (question_key, field) question_key, field, choice, record_id from decisions
       where import_no = $1::bigint and decision_no <= $2::bigint and flow_id = $3 and kind = $4
         and (question_key = k.key or (question_key is null and (decisions.field is null or decisions.field = k.field)))
       order by question_key, field, decision_no desc) newest
     where choice <> 'ask' order by question_key is null, field is null limit 1) d`,
)

const Rule = z.object({
  flowId: z.string(),
  kind: z.enum(['match', 'lookup', 'edit']),
  field: z.string().nullable(),
  choice: z.enum(['create', 'skip', 'first', 'overwrite', 'keep']),
})

export const listRules = (db: Db, importNo: number) =>
  db.any(sql.type(Rule)`
    select * from (
      select distinct on (flow_id, kind, field) flow_id as "flowId", kind, field, choice from decisions
      where import_no = ${importNo} and question_key is null order by flow_id, kind, field, decision_no desc) rules
    where choice <> 'ask' order by "flowId", kind, field`)
