import {z} from 'zod'
import {isAtLeast} from '../../shared/accounts/roles.ts'
import {readEntitlements, readUsage} from '../../shared/billing/entitlements/describe.ts'
import {startTrial} from '../../shared/billing/entitlements/trial.ts'
import {assertWritable} from '../../shared/crm/connectors/writing.ts'
import {Refusal} from '../../shared/errors.ts'
import {templateFor} from '../../shared/mapping/templates/authorise.ts'
import {authorise} from '../../shared/runs/authorise.ts'
import {findPrevious} from '../../shared/runs/external/chain.ts'
import {findConnector} from '../../sql/connectors.ts'
import {lockImport} from '../../sql/imports.ts'
import {Run} from '../../sql/runs.ts'
import {Answer, Count, Id} from '../answers/common.ts'
import {connectorId, runId} from '../answers/examples.ts'
import {Balance, PlanStatusAnswer, Usage} from '../answers/plans.ts'
import {OfOrg} from '../params.ts'
import {ofPlan} from '../refusal-lists.ts'
import {route} from '../route.ts'

const Entitlements = Answer({...PlanStatusAnswer.shape, usage: Usage, credits: Balance})

const {included, purchased, reserved, available} = Balance.shape

const UsageAnswer = Answer({
  ...Usage.shape,
  credits: Answer({
    included,
    purchased,
    reserved,
    available,
    spent: Count('AI credits spent in this period'),
    byFeature: z
      .array(
        Answer({
          feature: z.string().meta({description: 'The AI feature', examples: ['auto_map']}),
          credits: Count('AI credits spent on the feature in this period'),
        }),
      )
      .describe('Spending by feature. Features without spending are omitted'),
  }).describe('AI credits'),
})

const Authorised = Answer({
  runId: Id('run', 'The run, which can be started within 24 hours'),
  rowsPerRun: z.int().positive().describe('Rows it may write. They are reserved'),
  stoppedBy: Run.shape.limitBy.describe("Which limit would stop it: the plan's rows per run, or the declared rows"),
})

const [start, end] = ['2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z']
const limits = {
  rowsPerPeriod: 500,
  rowsPerRun: 100,
  modules: 2,
  schedules: 0,
  fileBytes: 5_242_880,
  historyDays: 7,
  undoDays: 7,
  aiCredits: 20,
}
const usage = {
  periodStart: start,
  periodEnd: end,
  rows: {limit: 500, used: 120, reserved: 0, remaining: 380, overage: 0},
  modules: {limit: 2, used: 1},
  schedules: {limit: 0, used: 0},
}
const credits = {included: 18, purchased: 0, reserved: 0, available: 18}
const entitlements = {
  plan: {id: 'plan_free_1', key: 'free', version: 1, name: 'Free'},
  status: 'active',
  limits,
  features: [],
  period: {start, end},
  trial: null,
  pastDue: null,
  overageEnabled: false,
  usage,
  credits: {...credits, periodStart: start, periodEnd: end},
}

const ofRetry = [
  'RUN_NOT_FOUND',
  'NOT_YOUR_RUN',
  'DRY_RUN',
  'NOT_READY',
  'IMPORT_RUNNING',
  'RUN_RETRIED',
  'RUN_UNDONE',
  'RUN_CONNECTOR_MISMATCH',
] as const

export default [
  route({
    method: 'get',
    path: '/entitlements/me',
    operationId: 'readEntitlements',
    tag: 'Plan and usage',
    access: {role: 'operator'},
    summary: 'Read the plan, limits and usage of the org',
    description: 'The plan and its status, limits, features, the usage counters of the period, and AI credits.',
    answers: {200: Entitlements},
    refusals: [],
    example: {answer: entitlements},
    handle: ({db, caller: {org}}) => readEntitlements(db, org),
  }),

  route({
    method: 'get',
    path: '/entitlements/usage',
    operationId: 'readUsage',
    tag: 'Plan and usage',
    access: {role: 'operator'},
    summary: 'Read the usage of this period',
    answers: {200: UsageAnswer},
    refusals: [],
    example: {answer: {...usage, credits: {...credits, spent: 2, byFeature: [{feature: 'auto_map', credits: 2}]}}},
    handle: ({db, caller: {org}}) => readUsage(db, org),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/trial',
    operationId: 'startTrial',
    tag: 'Plan and usage',
    access: {role: 'owner'},
    summary: 'Start the trial of the org',
    description: 'An org has one trial of 14 days. The trial starts a new period.',
    answers: {200: Entitlements},
    refusals: ['SANDBOX_ORG', 'TRIAL_USED', 'ALREADY_SUBSCRIBED'],
    example: {answer: {...entitlements, status: 'trialing', trial: {startedAt: start, endsAt: '2026-03-15T00:00:00.000Z'}}},
    params: OfOrg,
    async handle({db, caller}) {
      await startTrial(db, caller)
      return readEntitlements(db, caller.org)
    },
  }),

  route({
    method: 'post',
    path: '/entitlements/runs/authorise',
    operationId: 'authoriseRun',
    tag: 'Outside runs',
    access: {role: 'operator'},
    summary: 'Authorise a run',
    description: `Reserves rows of the period for the run. The run may write the smaller of the declared rows and the plan's rows per run, even if the plan changes later. An
unused authorisation expires after 24 hours and frees its rows. An external run continues the retry chain of \`retryOf\`, or of the import's last external
run: rows created there are answered as \`inherited\`, and the records of lost creates can still be claimed. In a 402, \`lift\` names what would allow the request.`,
    answers: {200: Authorised},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'CONNECTION_NOT_FOUND', 'WRITES_PAUSED', 'NOT_FOUND', ...ofRetry, ...ofPlan],
    example: {body: {declaredRows: 1_200, connectorId}, answer: {runId, rowsPerRun: 1_200, stoppedBy: 'declaration'}},
    body: z.strictObject({
      declaredRows: z.int().min(1).max(1_000_000_000).describe('The most rows that the run will write'),
      importId: z.string().optional().describe('The import of the run. Omit it for a run without an import'),
      connectorId: z.string().optional().describe('The connection of a run without an import. If omitted, the first write fixes it'),
      retryOf: z.string().optional().describe('The ended external run to retry: the last of its retry chain, and of the same import'),
      templateId: z.string().nullish().describe('The template of the run. Default: the template of the import'),
    }),
    handle({db, caller: {org, person, role}, body: {declaredRows, importId, connectorId, retryOf, templateId}}) {
      return db.transaction(async tx => {
        const found = importId === undefined ? null : await lockImport(tx, {org, id: importId})
        if (importId !== undefined && !found) throw new Refusal('IMPORT_NOT_FOUND', 'There is no such import')
        if (found?.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired. Create a new one')
        const asker = {org, person, admin: isAtLeast(role, 'admin'), importNo: found?.no ?? null}
        const previous = retryOf === undefined ? null : await findPrevious(tx, {...asker, id: retryOf, connector: connectorId})
        const connector = found?.connectorId ?? connectorId ?? previous?.connectorId ?? null
        if (connector !== null && !(await findConnector(tx, {org, id: connector})))
          throw new Refusal('CONNECTION_NOT_FOUND', 'There is no such connection')
        if (connector !== null) await assertWritable(tx, {org, connector})
        const template = await templateFor(tx, {org, person, rank: role, id: templateId, found})
        return authorise(tx, {org, person, declaredRows, connector, importNo: found?.no ?? null, template, previous})
      })
    },
  }),
]
