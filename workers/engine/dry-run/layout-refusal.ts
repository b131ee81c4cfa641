import type {CompiledFlow, StepKind} from '../model.ts'
import type {Op} from '../settle/verdict.ts'

export type PredictedRefusal = {code: string; message: string}

/**
 * Returns the refusal of a create that leaves a field of the flow's layout empty, or null. The CRM checks a layout's fields only in creates
 * that name the layout. It has one code for one missing field and another for several.
 */
export const predictLayoutRefusal = ({layout}: CompiledFlow, kind: StepKind, {row}: Op): PredictedRefusal | null => {
  if (!layout || kind !== 'create') return null
  const missing = layout.requires.filter(name => row.payload[name] === undefined || row.payload[name] === null)
  if (missing.length === 0) return null
  const isOne = missing.length === 1
  const message = `${missing.join(', ')} ${isOne ? 'is' : 'are'} empty, and the layout ${layout.name} requires ${isOne ? 'it' : 'them'}`
  return {code: isOne ? 'MANDATORY_NOT_FOUND' : 'MULTIPLE_OR_MULTI_ERRORS', message}
}
