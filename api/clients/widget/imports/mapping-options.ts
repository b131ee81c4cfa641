import type {Sample} from '../../sample.ts'
import {html} from '../html.ts'
import {t} from '../text/options.ts'
import {Check, Select} from '../ui/field.ts'
import type {Target} from './expression-field.ts'
import type {Field} from './fields.ts'
import {type Issue, putMapping} from './flows.ts'
import type {Flow, Mapping, Source} from './import.ts'
import {errorAt, modeFields, modesFor} from './mapping-modes.ts'
import type {FieldsOf} from './module-data.ts'

type EditorProps = {
  flow: Flow
  source: Source
  allFields: FieldsOf
  sample: Sample
  target: Omit<Target, 'field'>
  mapping: Mapping
  field: Field
  issues: Issue[]
  change: (flow: Flow) => void
}

export const MappingOptions = ({flow, source, allFields, sample, target, mapping, field, issues, change}: EditorProps) => {
  const set = (changes: Partial<Mapping>) => change(putMapping(flow, {...mapping, ...changes}))
  const Mode = modeFields[mapping.mode]
  const linked = (field.lookup && allFields.get(field.lookup.module)) || []
  const place = {...target, field: field.apiName}
  const columns = source.columns.map(({name}) => name)
  const seen = source.columns.find(({name}) => name === mapping.source)?.samples ?? []
  return html`
    <p class="hint">${field.apiName}, ${field.type}${field.length ? t.atMostCharacters(field.length) : ''}${field.annotation?.description ? `. ${field.annotation.description}` : ''}</p>
    ${errorAt(issues, 'field') && html`<p class="wrong">${errorAt(issues, 'field')}</p>`}
    <${Select} label=${t.source} error=${errorAt(issues, 'mode')} value=${mapping.mode} options=${modesFor(field)} onChange=${(mode: string) => set({mode: mode as Mapping['mode']})} />
    <${Mode} mapping=${mapping} field=${field} columns=${columns} sample=${sample} seen=${seen} target=${place} issues=${issues} linked=${linked} change=${set} />
    ${mapping.mode !== 'skip' && html`<${Later} mapping=${mapping} issues=${issues} change=${set} />`}
  `
}

const usualPatch = {when: ['created', 'updated'], overwrite: 'always' as const}

/** An option to write the field after all rows, for example a lookup to a record that another row creates. */
const Later = ({mapping, issues, change}: {mapping: Mapping; issues: Issue[]; change: (changes: Partial<Mapping>) => void}) => html`
  <${Check} label=${t.writeAfterAllRows} hint=${t.whenAllRecordsExist} checked=${Boolean(mapping.patch)} onChange=${(on: boolean) => change({patch: on ? usualPatch : null})} />
  ${errorAt(issues, 'patch') && html`<p class="wrong">${errorAt(issues, 'patch')}</p>`}
  ${mapping.patch && html`<${Check} label=${t.onlyIfTheFieldIsEmptyIn} checked=${mapping.patch.overwrite === 'if-absent'} onChange=${(on: boolean) => change({patch: {...mapping.patch!, overwrite: on ? 'if-absent' : 'always'}})} />`}
`
