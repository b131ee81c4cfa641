import {z} from 'zod'
import {findImportRun} from '../../shared/runs/find.ts'
import {approvePlanOf, findApprovalAbove} from '../../shared/runs/sealed-plan/approve.ts'
import {describePlan} from '../../shared/runs/sealed-plan/describe-plan.ts'
import {sealPlanOf} from '../../shared/runs/sealed-plan/seal.ts'
import type {Db} from '../../sql/database.ts'
import {findPlan} from '../../sql/sealed-plans.ts'
import {Answer, Count, Moment} from '../answers/common.ts'
import {PersonNamed} from '../answers/people.ts'
import {OfImportRun} from '../params.ts'
import {route} from '../route.ts'

const SealedPlan = Answer({
  digest: z.string().meta({description: 'The digest of the plan, in hex', examples: ['5f2b…']}),
  rows: Count('Rows that the plan writes'),
  chunks: Count('Chunks of at most 1,000 steps. Each has a hash that covers the chunks before it'),
  state: z
    .enum(['unsealed', 'sealed', 'changed', 'expired'])
    .describe('`changed`: the import was changed after the dry run. Only a `sealed` plan can be applied'),
  sealedAt: Moment('When it was sealed').nullable().describe('When it was sealed. Null: not yet'),
  sealedBy: PersonNamed.nullable().describe('The person who sealed it. Null: not sealed, or erased'),
  expiresAt: Moment('When it expires').nullable().describe('When the seal expires. Null: not sealed'),
  needsApproval: z.boolean().describe('Whether its rows exceed `approvalAbove` of the org, so that it can be applied only once approved'),
  isAuthor: z.boolean().describe('Whether you sealed it or started its dry run, so that another admin must approve it'),
  approvedAt: Moment('When it was approved').nullable().describe('When it was approved. Null: not yet'),
  approvedBy: PersonNamed.nullable().describe('The admin who approved it. Null: not approved, or erased'),
}).meta({id: 'SealedPlan', description: 'The plan of a dry run: what its run would do to each row'})

const PlanAnswer = Answer({plan: SealedPlan})

const plan = {
  digest: '5f2b8a1c9d3e4f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8',
  rows: 1_200,
  chunks: 2,
  state: 'sealed' as const,
  sealedAt: '2026-03-01T08:30:00.000Z',
  sealedBy: {id: 'per_01k9m0v6f8e2r4t7w3y5z1a2b4', name: 'Ana Example'},
  expiresAt: '2026-03-08T08:30:00.000Z',
  needsApproval: false,
  isAuthor: true,
  approvedAt: null,
  approvedBy: null,
}

const readPlan = async (db: Db, person: string, name: {org: string; importId: string; runId: string}) => {
  const {run} = await findImportRun(db, name)
  return describePlan(run, await findPlan(db, run.no), {person, approvalAbove: await findApprovalAbove(db, name.org)})
}

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs/:run/seal',
    operationId: 'sealImportRunPlan',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Seal the plan of a dry run',
    description: `Seals what the dry run would do to each row, for 7 days. A run with \`planOf\` applies exactly this plan. Sealing again changes nothing and answers the
same digest. The digest covers row, phase, kind, record, a digest of the values, and the \`Modified_Time\` of the record.`,
    answers: {200: PlanAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'NOT_A_DRY_RUN', 'NOT_READY', 'FILE_GONE', 'PLAN_CHANGED', 'PLAN_EXPIRED'],
    example: {answer: {plan}},
    params: OfImportRun,
    async handle({db, caller, params}) {
      const name = {org: caller.org, importId: params.id, runId: params.run}
      await db.transaction(tx => sealPlanOf(tx, caller, caller.person, name))
      return {plan: (await readPlan(db, caller.person, name))!}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs/:run/approve',
    operationId: 'approveImportRunPlan',
    tag: 'Runs',
    access: {role: 'admin', sessionOnly: 'person'},
    summary: 'Approve a sealed plan',
    description: 'Approves the plan with this digest. The person who sealed the plan or started its dry run cannot approve it.',
    answers: {200: PlanAnswer},
    refusals: [
      ...(['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'NOT_A_DRY_RUN', 'NOT_READY', 'FILE_GONE'] as const),
      ...(['PLAN_CHANGED', 'PLAN_EXPIRED', 'SELF_APPROVAL'] as const),
    ],
    example: {body: {digest: plan.digest}, answer: {plan}},
    params: OfImportRun,
    body: z.strictObject({digest: z.string().max(64).describe('The digest of the plan, as `GET …/seal` answers it')}),
    async handle({db, caller, params, body}) {
      const name = {org: caller.org, importId: params.id, runId: params.run}
      await db.transaction(tx => approvePlanOf(tx, caller, {...name, ...body, person: caller.person}))
      return {plan: (await readPlan(db, caller.person, name))!}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/seal',
    operationId: 'readImportRunPlan',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Read the plan of a dry run',
    description: 'Answers the digest and the state of the plan, not its rows. `plan.csv` has these.',
    answers: {200: Answer({plan: SealedPlan.nullable().describe('The plan. Null: the dry run has no complete plan')})},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND'],
    example: {answer: {plan}},
    params: OfImportRun,
    async handle({db, caller: {org, person}, params}) {
      return {plan: await readPlan(db, person, {org, importId: params.id, runId: params.run})}
    },
  }),
]
