import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/mapping.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {count as number} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {choicesOf, type Field} from './fields.ts'
import {putMapping} from './flows.ts'
import type {CheckProblem, Imported} from './import.ts'
import {type ColumnValue, type ColumnValues, entriesOf, findMapping, positionOf, putEntry, withEntries} from './value-entries.ts'

const mostShown = 10
type Props = {found: Imported; problem: CheckProblem; again: () => Promise<void>}

/**
 * Lists up to 10 values of a column that are not options of the field and have no entry in the value map. A choice adds an entry, which
 * replaces the value in all its cells.
 */
export const FixValues = ({found, problem, again}: Props) => {
  const flow = findMapping(found, problem).flow!
  const mapping = findMapping(found, problem).mapping!
  const loaded = useLoad(
    async signal => {
      const values = inOrg(`/imports/${found.id}/sources/${flow.sourceId}/columns/${encodeURIComponent(mapping.source!)}/values`)
      const [read, {fields}] = await Promise.all([
        client.get(values, {module: flow.module, field: mapping.field}, signal) as Promise<ColumnValues>,
        client.get(inOrg(`/config/fields/${encodeURIComponent(flow.module)}`), {connector: found.connectorId}, signal),
      ])
      return {...read, field: (fields as Field[]).find(({apiName}) => apiName === mapping.field)}
    },
    [found.version, flow.id, mapping.field],
  )
  const fix = useDoing(async (value: string, to: string) => {
    const next = {...mapping, ...withEntries(mapping, putEntry(entriesOf(mapping) ?? [], value, to))}
    const flows = found.flows.map(one => (one.id === flow.id ? putMapping(flow, next) : one))
    await client.put(inOrg(`/imports/${found.id}/flows`), flows, {'if-match': `"${found.version}"`})
    await again()
    say(t.replacedBy(value, to))
  })
  const field = loaded.data?.field
  const open = (loaded.data?.values ?? []).filter(({value, option}) => option === false && positionOf(entriesOf(mapping) ?? [], value) < 0)
  if (!may('operator') || !field || open.length === 0) return null
  return html`
    <section class="sheet fix-values" aria-label=${t.valuesOf(field.label)}>
      <h3>${t.valuesUnknownToCrm(open.length, field.label)}</h3>
      <ul class="plain">${open.slice(0, mostShown).map(value => html`<li key=${value.value}><${OneValue} value=${value} field=${field} isBusy=${fix.isBusy} fix=${fix.run} /></li>`)}</ul>
      <${Problem} error=${fix.error} title=${t.couldNotSaveTheValue} />
    </section>
  `
}

type OneProps = {value: ColumnValue; field: Field; isBusy: boolean; fix: (value: string, to: string) => void}

const OneValue = ({value: {value, count, suggestion}, field, isBusy, fix}: OneProps) => {
  const [to, setTo] = useState(suggestion?.to ?? '')
  return html`
    <div class="row">
      <span class="grow"><span class="sample">${value}</span></span>
      <${Select} label=${t.optionFor(value)} isHidden=${true} value=${to} options=${[{value: '', label: t.chooseAnOption}, ...choicesOf(field)]} onChange=${setTo} />
      <${Button} isBusy=${isBusy} disabled=${to === ''} onClick=${() => fix(value, to)} label=${t.fixAllNamed(number(count), value, to)}>${t.fixAll(number(count))}<//>
    </div>
  `
}
