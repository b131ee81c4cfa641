import {z} from 'zod'
import type {Tx} from '../../sql/database.ts'
import {insertDecisions, listRules, type NewDecision} from '../../sql/decisions.ts'
import {lockImport} from '../../sql/imports.ts'
import {findQuestions} from '../../sql/questions.ts'
import {Refusal} from '../errors.ts'
import type {FoundRun} from '../runs/find.ts'
import {assertStillKept} from '../runs/kept.ts'

const Key = z
  .string()
  .regex(/^[0-9a-f]{32}$/, 'The key of one of the questions')
  .describe('The key of the question')
const Answer = z.union([
  z.strictObject({key: Key, recordId: z.string().min(1).max(100).describe("The CRM's id of the candidate that is meant")}),
  z.strictObject({
    key: Key,
    choice: z.enum(['create', 'skip']).describe('`create`: none is meant; of a lookup, the row is written without the link'),
  }),
])
const Rule = z.strictObject({
  flowId: z.string().describe('The flow whose questions it answers'),
  kind: z.enum(['match', 'lookup']).default('match').describe('Which of its questions: of rows that match, or of links'),
  choice: z.enum(['create', 'skip', 'first', 'ask']).describe('`first`: the oldest of the records. `ask` ends a rule'),
})

/** What people choose: a record, `create` or `skip` for one question; for all of a flow's a rule, which goes after these. `ask` ends a rule. */
export const AnswersBody = z
  .strictObject({
    answers: z.array(Answer).max(1_000).default([]).describe('What is chosen, question by question'),
    rules: z.array(Rule).max(100).default([]).describe('What is chosen for all questions of a flow that have no answer of their own'),
  })
  .refine(({answers, rules}) => answers.length + rules.length > 0, 'Give answers or rules')

type Given = z.output<typeof AnswersBody> & {person: string}

/**
 * Keeps what was chosen. Nothing of this run changes by it: a retry, or any run of the import begun later, applies it. The import is
 * locked, so that no run begins between two answers of one call.
 */
export const answerQuestions = async (tx: Tx, {run, importId, snapshot}: FoundRun, {answers, rules, person}: Given) => {
  const {no: importNo} = (await lockImport(tx, {org: run.org, id: importId!})) ?? refuse()
  await assertStillKept(tx, run.no)
  const asked = await findQuestions(tx, {run: run.no, keys: answers.map(({key}) => key)})
  const questions = new Map(asked.map(question => [question.key, question]))
  const flows = new Set(snapshot?.flows.map(({flow}) => flow.id))
  const decisions: NewDecision[] = answers.map(answer => {
    const question = questions.get(answer.key)
    if (!question) throw new Refusal('NOT_FOUND', 'The run asks no such question: list its questions again')
    const {flowId, kind} = question
    const base = {flowId, kind, key: Buffer.from(answer.key, 'hex')}
    if ('choice' in answer) return {...base, choice: answer.choice, recordId: null}
    // More candidates than are kept may match: whether this is one of them the retry finds out, and asks again where it is not.
    if (question.found <= question.candidates.length && !question.candidates.includes(answer.recordId))
      throw new Refusal('INVALID', `Record ${answer.recordId} is none of the question's candidates: choose one of them`)
    return {...base, choice: 'record', recordId: answer.recordId}
  })
  for (const {flowId, kind, choice} of rules) {
    if (!flows.has(flowId)) throw new Refusal('INVALID', `The run has no flow ${flowId}`)
    decisions.push({flowId, kind, key: null, choice, recordId: null})
  }
  await insertDecisions(tx, {importNo, person, decisions})
  return {answered: answers.length, rules: await listRules(tx, importNo)}
}

const refuse = (): never => {
  throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
}
