import {useEffect, useRef, useState} from 'preact/hooks'
import type {Sample} from '../../sample.ts'
import {html} from '../html.ts'
import {useKept} from '../state/kept.ts'
import {useDoing} from '../state/load.ts'
import {client, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Closed} from '../ui/closed.ts'
import {Select} from '../ui/field.ts'
import {percent, plural} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {type Field, isFillable} from './fields.ts'
import {unusedColumns} from './flows.ts'
import type {Flow, Imported, Source} from './import.ts'
import {acceptAll, choicesFor, type Proposal, type Proposals as Proposed, sayModel, sayWhy, sureProposals, takeColumn} from './proposal.ts'

type Props = {
  found: Imported
  flow: Flow
  source: Source
  fields: Field[]
  sample: Sample
  leftOut: string[]
  change: (flow: Flow) => void
  leaveOut: (columns: string[]) => void
}
const pageColumns = 30

/** Lists the unmapped columns with proposals and reasons. No proposal is applied until a person accepts it. */
export const Proposals = ({found, flow, source, fields, sample, leftOut, change, leaveOut}: Props) => {
  const [proposed, setProposed] = useKept<Proposed | null>(`proposals ${found.id} ${source.id} ${flow.module}`, null)
  const [most, setMost] = useState(pageColumns)
  const hasSample = sample.columns.length > 0
  const ask = useAsk({found, flow, source, sample}, setProposed)
  useEffect(() => {
    if (may('operator', 'money') && hasSample && flow.fields.length === 0 && !proposed) ask.run()
  }, [flow.id, hasSample])
  const writable = fields.filter(field => isFillable(field) && !field.excluded)
  const unused = unusedColumns(flow, source)
  const open = unused.filter(name => !leftOut.includes(name))
  const list = useNextFocus(open)
  const sayLeft = open.length === 0 ? 'All columns are mapped or skipped' : `${plural(open.length, 'unmapped column')}`
  const one = (column: string) => {
    const proposal = proposed?.proposals.find(found => found.column === column)
    const take = (field: Field) => change(takeColumn(flow, column, field))
    return html`<${OneColumn} key=${column} column=${column} source=${source} flow=${flow} proposal=${proposal} fields=${writable} take=${take} leave=${() => leaveOut([...leftOut, column])} />`
  }
  return html`
    <section class="sheet" aria-label="Unmapped columns">
      <div class="row">
        <h2 class="grow" tabindex="-1">${sayLeft}</h2>
        <${AcceptSure} flow=${flow} proposals=${proposed?.proposals ?? []} fields=${writable} unused=${open} change=${change} />
        ${may('operator', 'money') && html`<${Button} isBusy=${ask.isBusy} disabled=${!hasSample} onClick=${() => ask.run()}>${proposed ? 'Suggest again' : 'Suggest mapping'}<//>`}
      </div>
      <${Closed} role="operator" change="money" />
      <${Problem} error=${ask.error} title="Could not get suggestions" />
      ${proposed && sayModel(proposed.model) && html`<p class="quiet">${sayModel(proposed.model)}</p>`}
      <ul class="plain columns-open" ref=${list}>${open.slice(0, most).map(one)}</ul>
      ${open.length > most && html`<p><${Button} onClick=${() => setMost(most + pageColumns)}>Show ${Math.min(pageColumns, open.length - most)} more<//></p>`}
      ${leftOut.length > 0 && html`<p class="quiet">${plural(leftOut.length, 'column')} skipped. <${Button} kind="quiet" onClick=${() => leaveOut([])}>Show<//></p>`}
    </section>
  `
}

/** After the focused column is decided, moves the focus to the next one, or to the heading. */
const useNextFocus = (open: string[]) => {
  const list = useRef<HTMLUListElement>(null)
  const before = useRef(open)
  useEffect(() => {
    const at = before.current.findIndex(name => !open.includes(name))
    const isLost = document.activeElement === document.body
    before.current = open
    if (at < 0 || !isLost) return
    const next = list.current?.children[Math.min(at, open.length - 1)]?.querySelector('button')
    const heading = list.current?.closest('section')?.querySelector('h2')
    ;(next ?? heading)?.focus()
  }, [open.join('\n')])
  return list
}

type ProposalRequest = Pick<Props, 'found' | 'flow' | 'source' | 'sample'>

const useAsk = ({found, flow, source, sample}: ProposalRequest, onAnswer: (answer: Proposed) => void) =>
  useDoing(async () => {
    const body = {
      connectorId: found.connectorId,
      modules: [flow.module],
      ...sample,
      import: found.id,
      place: ['source', source.id],
    }
    const {proposals, model, samples, credits} = await client.post('/ai/auto-map', body)
    onAnswer({proposals, model, samples, credits})
    say(`Suggestions for ${plural((proposals as Proposal[]).filter(({field}) => field !== null).length, 'column')}`)
  })

const thresholds = [0.95, 0.9, 0.8, 0.7, 0.6]

type AcceptProps = {flow: Flow; proposals: Proposal[]; fields: Field[]; unused: string[]; change: (flow: Flow) => void}

const AcceptSure = ({flow, proposals, fields, unused, change}: AcceptProps) => {
  const [least, setLeast] = useKept('proposals least', 0.8)
  if (proposals.length === 0) return null
  const sure = sureProposals(flow, {proposals, fields, unused, least})
  return html`
    <div class="accept row">
      <${Select} label="Minimum confidence" isHidden=${true} value=${String(least)} options=${thresholds.map(value => ({value: String(value), label: `${percent(value)} and over`}))} onChange=${(value: string) => setLeast(Number(value))} />
      <${Button}
        kind="main"
        disabled=${sure.length === 0}
        onClick=${() => {
          change(acceptAll(flow, sure))
          say(`${plural(sure.length, 'suggestion')} accepted`)
        }}
      >
        Accept ${sure.length}
      <//>
    </div>
  `
}

type OneProps = {
  column: string
  source: Source
  flow: Flow
  proposal: Proposal | undefined
  fields: Field[]
  take: (field: Field) => void
  leave: () => void
}

const OneColumn = ({column, source, flow, proposal, fields, take, leave}: OneProps) => {
  const choices = choicesFor(flow, proposal, fields)
  const samples = source.columns.find(({name}) => name === column)?.samples ?? []
  const free = fields.filter(
    ({apiName}) => !flow.fields.some(({field, mode}) => field === apiName && mode !== 'skip') && flow.parent?.field !== apiName,
  )
  const choose = (name: string) => {
    const field = free.find(({apiName}) => apiName === name)
    if (field) take(field)
  }
  return html`
    <li>
      <div class="column-open">
        <div>
          <strong>${column}</strong>
          <span class="samples">${samples.slice(0, 3).map(sample => html`<span class="sample">${sample.length > 30 ? `${sample.slice(0, 30)} …` : sample}</span>`)}</span>
        </div>
        <div class="answers">
          ${choices.slice(0, 3).map(
            choice => html`
              <${Button} class="answer" onClick=${() => take(choice.known)}>
                <span class="unseen">${column} into </span><strong>${choice.known.label}</strong> <span class="confidence">${percent(choice.confidence)}</span><br /><span class="quiet">${sayWhy(choice)}</span>
              <//>
            `,
          )}
          ${choices.length === 0 && html`<p class="quiet">${proposal ? 'No good match.' : 'No suggestion yet.'}</p>`}
        </div>
        <div class="row">
          <${Select} label=${`Field for ${column}`} isHidden=${true} value="" options=${[{value: '', label: 'Another field …'}, ...free.map(({apiName, label}) => ({value: apiName, label: label === apiName ? label : `${label} (${apiName})`}))]} onChange=${choose} />
          <${Button} onClick=${leave} label=${`Skip ${column}`}>Skip<//>
        </div>
      </div>
    </li>
  `
}
