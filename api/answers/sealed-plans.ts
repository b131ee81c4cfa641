import {z} from 'zod'
import {Answer, Count, Moment} from './common.ts'
import {PersonNamed} from './people.ts'

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
  approvedAt: Moment('When it was approved').nullable().describe('When it was approved. Null: not yet'),
  approvedBy: PersonNamed.nullable().describe('The admin who approved it. Null: not approved, or erased'),
}).meta({id: 'SealedPlan', description: 'The plan of a dry run: what its run would do to each row'})

export const PlanAnswer = Answer({plan: SealedPlan})
export const PlanOrNone = Answer({plan: SealedPlan.nullable().describe('The plan. Null: the dry run has no complete plan')})
