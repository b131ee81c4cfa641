import {z} from 'zod'
import type {Tx} from '../../../sql/database.ts'
import {insertDecisions, listRules, type NewDecision, type QuestionKind} from '../../../sql/decisions.ts'
import {lockImport} from '../../../sql/imports.ts'
import {findQuestions} from '../../../sql/questions.ts'
import {Refusal} from '../../errors.ts'
import type {FoundRun} from '../../runs/find.ts'
import {assertStillKept} from '../../runs/kept.ts'

const Key = z
  .string()
  .regex(/^[0-9a-f]{32}$/, 'Must be the key of a question')
  .describe('The key of the question')
const Answer = z.union([
  z.strictObject({key: Key, recordId: z.string().min(1).max(100).describe("The CRM's id of the chosen candidate")}),
  z.strictObject({
    key: Key,
    choice: z
      .enum(['create', 'skip', 'overwrite', 'keep'])
      .describe(
        '`create`: none of the candidates; for a lookup, the row is written without the link. `skip`: the row is skipped. `overwrite`, `keep`: for a value that a person edited',
      ),
  }),
])
const Rule = z.strictObject({
  flowId: z.string().describe('The flow whose questions the rule answers'),
  kind: z
    .enum(['match', 'lookup', 'edit'])
    .default('match')
    .describe('Which questions: `match` for matching rows, `lookup` for links, `edit` for values that people edited'),
  field: z.string().min(1).max(200).optional().describe('With `edit`: only questions about this field'),
  choice: z
    .enum(['create', 'skip', 'first', 'overwrite', 'keep', 'ask'])
    .describe('`first`: the oldest record. `overwrite`, `keep`: with `edit` only. `ask` removes a rule'),
})
const EDIT_CHOICES: readonly string[] = ['overwrite', 'keep']

const assertFits = (kind: QuestionKind, choice: string) => {
  if (choice !== 'ask' && EDIT_CHOICES.includes(choice) !== (kind === 'edit'))
    throw new Refusal('INVALID', `A question of kind ${kind} cannot be answered with ${choice}. Choose one of its answers`)
}

/**
 * An answer to one question is a record or a choice. A rule applies to all unanswered questions of one kind in a flow, or about one edited field;
 * `ask` removes a rule.
 */
export const AnswersBody = z
  .strictObject({
    answers: z.array(Answer).max(1_000).default([]).describe('Answers to single questions'),
    rules: z.array(Rule).max(100).default([]).describe('Rules for all questions of a flow that have no answer'),
  })
  .refine(({answers, rules}) => answers.length + rules.length > 0, 'Send answers or rules')

type GivenAnswers = z.output<typeof AnswersBody> & {person: string}

/**
 * Stores answers, which a retry or a later run of the import applies. The import is locked, so that no run begins between two answers of one request.
 */
export const answerQuestions = async (tx: Tx, {run, importId, snapshot, unread}: FoundRun, {answers, rules, person}: GivenAnswers) => {
  const {no: importNo} = (await lockImport(tx, {org: run.org, id: importId!})) ?? refuse()
  await assertStillKept(tx, run.no)
  if (unread) throw unread
  const asked = await findQuestions(tx, {run: run.no, keys: answers.map(({key}) => key)})
  const questions = new Map(asked.map(question => [question.key, question]))
  const flows = new Set(snapshot?.flows.map(({flow}) => flow.id))
  const decisions: NewDecision[] = answers.map(answer => {
    const question = questions.get(answer.key)
    if (!question) throw new Refusal('NOT_FOUND', 'The run has no such question. List its questions again')
    const {flowId, kind} = question
    const base = {flowId, kind, key: Buffer.from(answer.key, 'hex')}
    assertFits(kind, 'choice' in answer ? answer.choice : 'record')
    if ('choice' in answer) return {...base, choice: answer.choice, recordId: null}
    // If more records match than the stored candidates, the user may choose another record. The retry checks that record, and asks again if
    // the record does not match.
    if (question.found <= question.candidates.length && !question.candidates.includes(answer.recordId))
      throw new Refusal('INVALID', `Record ${answer.recordId} is not a candidate of the question. Choose one of its candidates`)
    return {...base, choice: 'record', recordId: answer.recordId}
  })
  for (const {flowId, kind, field = null, choice} of rules) {
    if (!flows.has(flowId)) throw new Refusal('INVALID', `The run has no flow ${flowId}`)
    assertFits(kind, choice)
    if (field !== null && kind !== 'edit') throw new Refusal('INVALID', 'Only a rule of kind edit names a field. Leave the field out')
    decisions.push({flowId, kind, key: null, field, choice, recordId: null})
  }
  await insertDecisions(tx, {importNo, person, decisions})
  return {answered: answers.length, rules: await listRules(tx, importNo)}
}

const refuse = (): never => {
  throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
}
