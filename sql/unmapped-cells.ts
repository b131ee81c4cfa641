import {z} from 'zod'

/** The number of cells for one field of a flow whose value has no entry in the value map of the field. */
export const UnmappedCells = z.object({flow: z.number(), field: z.string(), cells: z.number()})
export type UnmappedCells = z.infer<typeof UnmappedCells>
