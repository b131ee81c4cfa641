import {z} from 'zod'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {ROW_STATUSES} from '../registry/annotation.ts'
import type {Flow, Mapping} from './flow.ts'
import {type Issue, issue} from './value-issues.ts'

/** What of a row's statuses comes with a record that can be patched: `exists` and `skipped` are one that was there and left as it was. */
const WITH_RECORD: readonly string[] = ['created', 'updated', 'exists', 'skipped']

/**
 * The field is written when all rows of all flows are, to the record of a row with one of these statuses. `if-absent`: where the record has
 * no value in it; a checkbox that is not ticked has none.
 */
export const Patch = z.strictObject({
  when: z
    .array(z.enum(ROW_STATUSES))
    .min(1)
    .default(['created', 'updated'])
    .describe('Statuses of a row whose record is patched; one of `created`, `updated`, `exists` and `skipped` at least'),
  overwrite: z
    .enum(['always', 'if-absent'])
    .default('always')
    .describe('`if-absent`: only where the record has no value in the field; a checkbox that is not ticked has none'),
})
export type Patch = z.output<typeof Patch>

/** Of a flow, the mappings whose fields are written with the row itself, and those that wait. */
export const splitMappings = <M extends Pick<Mapping, 'mode' | 'patch'>>(fields: M[]) => {
  const used = fields.filter(({mode}) => mode !== 'skip')
  return {written: used.filter(({patch}) => !patch), patched: used.filter(({patch}) => patch)}
}

/** What is wrong with the fields that are written later. */
export const patchIssues = ({fields, match}: Flow, module: DiscoveredModule | undefined): Issue[] => {
  const {written, patched} = splitMappings(fields)
  const issues = patched.flatMap(mapping => {
    const at = fields.indexOf(mapping)
    const field = module?.fields.find(({apiName}) => apiName === mapping.field)
    const place = (message: string) => issue(['fields', at, 'patch'], message)
    return [
      ...(mapping.patch!.when.some(status => WITH_RECORD.includes(status))
        ? []
        : [place(`Only rows with a record can be patched: name one of ${WITH_RECORD.join(', ')}`)]),
      ...(field?.required ? [place(`A record cannot be created without ${mapping.field}: it is written with the row`)] : []),
      ...(match?.by.includes(mapping.field) ? [place(`Rows cannot be matched by ${mapping.field}: it is written after them`)] : []),
    ]
  })
  return patched.length > 0 && written.length === 0
    ? [...issues, issue(['fields'], 'Every field is a patch: rows need one of their own')]
    : issues
}
