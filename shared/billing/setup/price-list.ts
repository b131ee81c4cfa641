import {z} from 'zod'

const Amount = z.number().int().min(0)
/** The price of an overage row, which may be below the smallest unit. The provider accepts twelve decimal places. */
const RowAmount = z.union([z.number().positive(), z.string().regex(/^\d+(\.\d{1,12})?$/)]).transform(String)

const PlanAmounts = z.strictObject({month: Amount.optional(), year: Amount.optional(), row: RowAmount.optional()})

/**
 * The operator's prices, in the smallest unit of one currency. `plans` has the prices by the plan's key, `packs` by the pack's. `row`: the price
 * of one overage row, billed monthly.
 */
export const PriceList = z.strictObject({
  currency: z.string().regex(/^[a-z]{3}$/, 'Three lower-case letters, e.g. eur'),
  taxBehavior: z.enum(['inclusive', 'exclusive']).optional(),
  plans: z.partialRecord(z.enum(['team', 'business', 'enterprise']), PlanAmounts),
  packs: z.record(z.string(), Amount).default({}),
})
export type PriceList = z.output<typeof PriceList>
