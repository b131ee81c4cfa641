import {useState} from 'preact/hooks'
import type {Sample} from '../../sample.ts'
import {html, type Markup} from '../html.ts'
import {type Doing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/mapping.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {percent} from '../ui/format.ts'
import {Pill} from '../ui/pill.ts'
import {ChosenReading} from './column-choice.ts'
import type {Target} from './expression-field.ts'
import {type Field, isPicklist} from './fields.ts'
import {dropMapping, type Issue, issuesAt} from './flows.ts'
import type {Choice, Flow, Imported, Mapping, Source, SourceColumn, SourceProblem} from './import.ts'
import {MappingOptions} from './mapping-options.ts'
import type {FieldsOf} from './module-data.ts'
import {choicesFor, type Proposal, sayWhy, takeColumn} from './proposal.ts'
import {asksForFormat, Question} from './question.ts'
import {type ColumnValues, entriesOf, positionOf} from './value-entries.ts'

type Props = {
  found: Imported
  flow: Flow
  source: Source
  column: SourceColumn
  fields: Field[]
  writable: Field[]
  allFields: FieldsOf
  sample: Sample
  target: Omit<Target, 'field'>
  issues: Issue[]
  proposal: Proposal | undefined
  isBusy: boolean
  decide: Doing<[string, Choice | null]>
  change: (flow: Flow) => void
}

/**
 * One column of the file with samples, the select of a field, and the state of the mapping. Questions and the options of the mapping open below.
 */
export const ColumnRow = (props: Props) => {
  const {flow, source, column, fields, isBusy, decide, issues} = props
  const mapping = flow.fields.find(one => one.source === column.name && one.mode !== 'skip' && one.mode !== 'static')
  const at = mapping ? flow.fields.indexOf(mapping) : -1
  const field = fields.find(({apiName}) => apiName === mapping?.field)
  const own = at < 0 ? [] : issuesAt(issues, 'fields', at)
  const [isOpen, setOpen] = useState(false)
  const questions = mapping && field ? questionsOf(source, mapping, field) : []
  const told = mapping ? source.problems.filter(one => one.column === column.name && one.kind !== 'ambiguous') : []
  return html`
    <div class="match-column">
      <div>
        <strong>${column.name}</strong>
        <span class="samples">${column.samples.slice(0, 3).map(sample => html`<span class="sample">${sample.length > 30 ? `${sample.slice(0, 30)} …` : sample}</span>`)}</span>
        <${ChosenReading} column=${column} choice=${source.choices[column.name]} decide=${decide.run} />
        ${told.map(({message, fix}) => html`<span class="decided wrong">${message}. ${fix}.</span>`)}
      </div>
      <${FieldSelect} ...${props} mapping=${mapping} />
      <div class="match-state">
        ${
          mapping && field
            ? html`<${State} ...${props} mapping=${mapping} field=${field} issues=${own} questions=${questions.length} open=${() => setOpen(true)} />
              <${Button} kind="quiet" onClick=${() => setOpen(!isOpen)} label=${t.optionsOf(field.label)} aria-expanded=${isOpen || own.length > 0 ? 'true' : 'false'}>${t.options}<//>`
            : html`<span class="quiet">${isBusy ? t.matching : t.notImported}</span>`
        }
      </div>
      ${
        questions.length > 0 &&
        may('operator') &&
        html`<ul class="plain questions match-wide">${questions.map(problem => html`<${Question} key=${problem.fix} problem=${problem} column=${column} isBusy=${decide.isBusy} decide=${(choice: Choice) => decide.run(column.name, choice)} />`)}</ul>`
      }
      ${mapping && field && (isOpen || own.length > 0) && html`<div class="match-wide mapping-options" role="group" aria-label=${t.optionsOf(field.label)}><${MappingOptions} ...${props} mapping=${mapping} field=${field} issues=${own} /></div>`}
    </div>
  `
}

/** Field types whose values are parsed from the cell. The reading of an ambiguous value matters only for these types. */
const parsed: Record<string, 'date' | 'number'> = {
  integer: 'number',
  bigint: 'number',
  long: 'number',
  double: 'number',
  percent: 'number',
  currency: 'number',
  date: 'date',
  datetime: 'date',
}

/** Returns the questions about a column whose answers change what the mapping writes. */
const questionsOf = ({problems}: Source, {mode, transform, format, source}: Mapping, {type}: Field): SourceProblem[] =>
  problems.filter(({kind, column, fix}) => {
    if (kind !== 'ambiguous' || column !== source || mode !== 'column' || transform) return false
    return fix.includes('dateOrder') || asksForFormat({fix}) ? parsed[type] === 'date' && !format : parsed[type] === 'number'
  })

const FieldSelect = ({flow, column, writable, proposal, mapping, change}: Props & {mapping: Mapping | undefined}) => {
  const isFree = ({apiName}: Field) =>
    apiName === mapping?.field ||
    (flow.parent?.field !== apiName && !flow.fields.some(({field, mode}) => field === apiName && mode !== 'skip'))
  const likely = choicesFor(flow, proposal, writable).map(({known, confidence}) => ({
    value: known.apiName,
    label: `${known.label} (${percent(confidence)})`,
    group: t.suggestions,
  }))
  const free = writable
    .filter(isFree)
    .map(({apiName, label, required}) => ({value: apiName, label: `${label}${required ? ' *' : ''}`, group: t.fields}))
  const listed =
    free.some(({value}) => value === mapping?.field) || !mapping
      ? free
      : [{value: mapping.field, label: mapping.field, group: t.fields}, ...free]
  const choose = (name: string) => {
    const field = writable.find(({apiName}) => apiName === name)
    if (field) change(takeColumn(flow, column.name, field))
    else if (mapping) change(dropMapping(flow, mapping.field))
  }
  const options = [{value: '', label: t.dontImport}, ...likely.filter(({value}) => value !== mapping?.field), ...listed]
  return html`<${Select} label=${t.fieldFor(column.name)} isHidden=${true} value=${mapping?.field ?? ''} options=${options} onChange=${choose} />`
}

type StateProps = Props & {mapping: Mapping; field: Field; questions: number; open: () => void}

const State = ({mapping, field, target, proposal, issues, questions, open}: StateProps): Markup => {
  const checksValues = isPicklist(field) && mapping.mode === 'column' && !mapping.transform && mapping.picklist !== 'pass'
  const loaded = useLoad(
    async signal => {
      if (!checksValues) return null
      const path = inOrg(`/imports/${target.importId}/sources/${target.sourceId}/columns/${encodeURIComponent(mapping.source!)}/values`)
      return (await client.get(path, {module: target.module, field: field.apiName}, signal)) as ColumnValues
    },
    [target.sourceId, target.module, field.apiName, checksValues, mapping.source],
  )
  if (issues.length > 0) return html`<${Pill} tone="bad">${t.problemCount(issues.length)}<//>`
  if (questions > 0) return html`<${Pill} tone="warning">${t.questionCount(questions)}<//>`
  const entries = entriesOf(mapping)
  const unknown = checksValues
    ? (loaded.data?.values ?? []).filter(({value, option}) => option === false && positionOf(entries ?? [], value) < 0)
    : []
  if (unknown.length > 0 && !(entries && mapping.otherwise))
    return html`<${Button} class="warning" onClick=${open} label=${t.valuesUnknownInMap(unknown.length, field.label)}>${t.valuesUnknown(unknown.length)}<//>`
  const isProposed = proposal?.field === mapping.field
  return html`<span class="match-ok" title=${isProposed ? sayWhy(proposal) : undefined}><span class="tick" aria-hidden="true">✓</span><span class="unseen">${t.matched}</span>${isProposed && proposal.confidence < 0.8 && html` <span class="quiet">${t.likely}</span>`}</span>`
}
