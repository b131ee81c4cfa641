import {ApiError, type Json} from '../../http.ts'
import {clean} from '../phrases.ts'

/** A difference between a case and the result of its run. `module`, `field` and `row` are null if the difference is not about one. */
export type Difference = {module: string | null; field: string | null; row: number | null; message: string}

export const differ = (message: string, {module = null, field = null, row = null}: Partial<Difference> = {}): Difference => ({
  module,
  field,
  row,
  message,
})

export const show = (value: unknown): string => (value === undefined || value === null ? 'empty' : JSON.stringify(value))

/** Converts a refusal of the API to differences: one for each issue, module or field that it names, or one for the whole refusal. */
const differencesOf = ({body, message}: ApiError): Difference[] => {
  const {issues = [], modules = [], fields = []} = body ?? {}
  const named = [
    ...issues.map(({path = [], message: issue}: Json) => differ(`${path.join('.')}${path.length > 0 ? ': ' : ''}${issue}`)),
    ...modules.map(({apiName}: Json) => differ(`The CRM has no module ${apiName}`, {module: apiName})),
    ...fields.map(({module, apiName}: Json) => differ(`The CRM has no field ${module}.${apiName}`, {module, field: apiName})),
  ]
  return named.length > 0 ? named : [differ(message)]
}

/** Runs a step of a case. A refusal of the API, or a run that does not end in time, becomes differences. */
export const orDifferences = async (step: () => Promise<Difference[]>): Promise<Difference[]> => {
  try {
    return await step()
  } catch (error) {
    if (error instanceof ApiError) return differencesOf(error)
    if (error instanceof Error && error.name === 'TimeoutError') return [differ('The run did not end in time')]
    throw error
  }
}

export const lineOf = ({module, field, row, message}: Difference): string => {
  const at = [row === null ? '' : `row ${row}`, [module, field].filter(Boolean).join('.')].filter(Boolean).join(', ')
  return clean(at ? `${at}: ${message}` : message)
}
