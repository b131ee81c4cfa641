import {z} from 'zod'
import {ROW_STATUSES} from '../../configuration/annotation.ts'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import type {Flow, Mapping} from './flow.ts'
import {type FlowIssue, issue} from './value-issues.ts'

/** Statuses of rows that have a record to patch. `exists`, `skipped`: an existing record was left unchanged. */
const WITH_RECORD: readonly string[] = ['created', 'updated', 'exists', 'skipped']

export const Patch = z.strictObject({
  when: z
    .array(z.enum(ROW_STATUSES))
    .min(1)
    .default(['created', 'updated'])
    .describe('Statuses of the rows whose records are patched; at least one of `created`, `updated`, `exists` and `skipped`'),
  overwrite: z
    .enum(['always', 'if-absent'])
    .default('always')
    .describe('`if-absent`: only if the record has no value in the field; an unticked checkbox counts as no value'),
})
export type Patch = z.output<typeof Patch>

/** `written`: mappings written with the row. `patched`: mappings written after all rows. Skipped fields are in neither. */
export const splitMappings = <M extends Pick<Mapping, 'mode' | 'patch'>>(fields: M[]) => {
  const used = fields.filter(({mode}) => mode !== 'skip')
  return {written: used.filter(({patch}) => !patch), patched: used.filter(({patch}) => patch)}
}

export const patchIssues = ({fields, match}: Flow, module: DiscoveredModule | undefined): FlowIssue[] => {
  const {written, patched} = splitMappings(fields)
  const issues = patched.flatMap(mapping => {
    const at = fields.indexOf(mapping)
    const field = module?.fields.find(({apiName}) => apiName === mapping.field)
    const place = (message: string) => issue(['fields', at, 'patch'], message)
    return [
      ...(mapping.patch!.when.some(status => WITH_RECORD.includes(status))
        ? []
        : [place(`Only rows with a record can be patched. Add one of ${WITH_RECORD.join(', ')}`)]),
      ...(field?.required ? [place(`A record cannot be created without ${mapping.field}. Write it with the row`)] : []),
      ...(match?.by.includes(mapping.field)
        ? [place(`Rows cannot be matched by ${mapping.field}, because it is written after the rows`)]
        : []),
    ]
  })
  return patched.length > 0 && written.length === 0
    ? [...issues, issue(['fields'], 'Every field is a patch. Write at least one field with the row')]
    : issues
}
