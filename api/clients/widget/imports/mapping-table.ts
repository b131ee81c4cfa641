import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/mapping.ts'
import {Button} from '../ui/button.ts'
import {Closed} from '../ui/closed.ts'
import {TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import {ColumnRow} from './column-row.ts'
import type {FlowProps} from './field-list.ts'
import {isFillable} from './fields.ts'
import {unusedColumns} from './flows.ts'
import type {Choice, Imported} from './import.ts'
import {acceptAll, type Proposals, sayModel, sureProposals} from './proposal.ts'
import {useProposals} from './proposals.ts'

type Props = FlowProps & {found: Imported; again: () => Promise<void>}
const pageColumns = 50
/** Suggestions with at least this confidence are filled in. An AI model on the server checks up to 12 columns whose suggestion is less sure. */
const leastConfidence = 0.6

/** The table of a flow: each column of the file with samples, field and state. Suggestions are filled in for a new flow, and on request. */
export const MappingTable = (props: Props) => {
  const {found, flow, source, fields, sample, change, again} = props
  const [part, setPart] = useState('')
  const [most, setMost] = useState(pageColumns)
  const writable = fields.filter(field => isFillable(field) && !field.excluded)
  const latest = useRef({flow, writable})
  latest.current = {flow, writable}
  const isNew = !found.flows.some(({id}) => id === flow.id)
  const isColumn = (name: string | null | undefined) => source.columns.some(column => column.name === name)
  const fill = ({proposals}: Proposals) => {
    const {writable: open} = latest.current
    // After a change of the header row, mappings of a new flow may name columns that no longer exist.
    const now = {
      ...latest.current.flow,
      fields: latest.current.flow.fields.filter(({mode, source: name}) => !isNew || mode !== 'column' || isColumn(name)),
    }
    const sure = sureProposals(now, {proposals, fields: open, unused: unusedColumns(now, source), least: leastConfidence})
    if (sure.length > 0 || now.fields.length < latest.current.flow.fields.length) change(acceptAll(now, sure))
    say(t.columnsMatched(sure.length))
  }
  const {proposed, ask} = useProposals({found, flow, source, sample}, fill)
  const isReady = sample.columns.length > 0 && sample.columns.every(isColumn) && writable.length > 0
  useEffect(() => {
    const isKnown = proposed?.proposals.some(({column}) => isColumn(column))
    if (may('operator', 'money') && isReady && isNew && !isKnown) ask.run()
  }, [flow.id, isReady, JSON.stringify(sample.columns)])
  const decide = useDoing(async (column: string, choice: Choice | null) => {
    const merged = choice && {...source.choices[column], ...choice}
    await client.patch(inOrg(`/imports/${found.id}/sources/${source.id}`), {choices: {[column]: merged}})
    await again()
    say(choice ? t.savedTheChoiceFor(column) : t.removedTheChoiceFor(column))
  })
  const unused = unusedColumns(flow, source)
  const fitting = source.columns.filter(({name}) => name.toLowerCase().includes(part.toLowerCase()))
  return html`
    <section class="sheet column-mapping" aria-label=${t.columns}>
      <div class="row">
        <h2 class="grow" tabindex="-1">${t.ofColumnsMatched(source.columns.length - unused.length, source.columns.length)}</h2>
        ${may('operator', 'money') && html`<${Button} isBusy=${ask.isBusy} disabled=${!isReady} onClick=${() => ask.run()}>${proposed ? t.suggestAgain : t.suggestFields}<//>`}
      </div>
      <${Closed} role="operator" change="money" />
      <${Problem} error=${ask.error} title=${t.couldNotGetSuggestions} />
      <${Problem} error=${decide.error} title=${t.couldNotSaveTheChoice} />
      ${proposed && sayModel(proposed.model) && html`<p class="quiet">${sayModel(proposed.model)}</p>`}
      ${source.columns.length > 20 && html`<${TextField} label=${t.findAColumn} value=${part} onInput=${setPart} />`}
      <div class="match-heads" aria-hidden="true"><span>${t.columnHead}</span><span>${t.field}</span><span>${t.state}</span></div>
      <ul class="plain match-columns">
        ${fitting.slice(0, most).map(column => html`<li key=${column.name}><${ColumnRow} ...${props} column=${column} writable=${writable} proposal=${proposed?.proposals.find(one => one.column === column.name)} isBusy=${ask.isBusy} decide=${decide} /></li>`)}
      </ul>
      ${fitting.length > most && html`<p><${Button} onClick=${() => setMost(most + pageColumns)}>${t.showMore(Math.min(pageColumns, fitting.length - most))}<//></p>`}
    </section>
  `
}
