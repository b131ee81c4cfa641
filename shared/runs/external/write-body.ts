import {z} from 'zod'

export const rowFields = {
  rowKey: z
    .string()
    .min(1)
    .max(200)
    .describe('Your key of the row. Use the same key for the same row in every request, so that the row is metered once'),
  rowNumber: z.int().min(1).max(1_000_000_000).optional().describe('Number of the row in its file, from 1'),
}

export const runId = z.string().min(1).describe('The run that the writes belong to')

export const writeFields = {
  automations: z.boolean().default(false).describe("Whether the CRM's workflows, approvals and blueprints run"),
  flowId: z.string().min(1).max(100).optional().describe('The flow of the rows'),
}

export const refuseRepeatedWrites = (items: {writeId?: string | undefined}[], ctx: z.RefinementCtx) => {
  for (const at of repeated(items.map(({writeId}) => writeId)))
    ctx.addIssue({code: 'custom', path: [at, 'writeId'], message: 'Another item of this request has this writeId'})
}

/** Returns the indexes of values that are repeated from earlier in the list. */
export const repeated = (values: (string | undefined)[]): number[] => {
  const seen = new Set<string>()
  return values.flatMap((value, at) => (value !== undefined && seen.size === seen.add(value).size ? [at] : []))
}
