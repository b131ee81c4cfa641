import type {Json} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import type {Known} from '../imports/known.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {count, onDay, plural} from '../ui/format.ts'
import {Notice} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {readByFlows, runsOf} from './choose.ts'
import {isUnderWay} from './run.ts'
import {StartForm} from './start-form.ts'

type Standing = {
  connection: {name: string; state: string; writesPaused: boolean; crmUserName?: string} | null
  entitlements: {
    limits: {rowsPerRun: number}
    usage: {rows: {limit: number; used: number; reserved: number; remaining: number}; periodEnd: string}
    overageEnabled: boolean
  } | null
}
type BeforeProps = {id: string; known: Known; onStarted: (run: string) => void}

/** What a run will do, what stands in its way, and the button that starts it. */
export const Before = ({id, known, onStarted}: BeforeProps) => {
  const standing = useLoad<Standing>(signal => readStanding(known.import.connectorId, signal), [known.import.connectorId])
  const {state, flows, sources} = known.import
  if (state === 'expired') return null
  if (state === 'draft' || flows.length === 0) {
    const step = sources.length === 0 ? 'files' : 'mapping'
    return html`<${Notice} title="Not ready to run yet" actions=${html`<a class="button" href=${to('imports', id, step)}>${step === 'files' ? 'Add a file' : 'Map the columns'}</a>`}>A run needs a file, and to know which column goes where.<//>`
  }
  return html`<${Shown} of=${standing}>${(data: Standing) => html`<${BeforeSheet} id=${id} known=${known} standing=${data} onStarted=${onStarted} />`}<//>`
}

const BeforeSheet = ({id, known, standing: {connection, entitlements}, onStarted}: BeforeProps & {standing: Standing}) => {
  const {flows} = known.import
  const reads = readByFlows(known)
  const rows = reads.reduce((sum, {rows, struck}) => sum + rows - struck, 0)
  const running = runsOf(known).find(run => isUnderWay(run) && !run.dryRun)
  const target = connection?.name ?? 'the CRM'
  const isHindered = !connection || connection.writesPaused || connection.state !== 'connected' || running !== undefined
  return html`
    <section class="sheet" aria-labelledby="before">
      <h2 id="before">What will happen</h2>
      <${Hindrances} id=${id} connection=${connection} running=${running?.id} />
      <dl class="run-facts">
        <${Fact} name="Rows">${plural(rows, 'row')}${flows.length > 1 ? `, of ${plural(flows.length, 'mapping')} together` : ''}<//>
        <${Fact} name="Into">${[...new Set(flows.map(({module}) => module))].join(', ')} of ${target}<//>
        <${Fact} name="When a record matches">${sayMatches(flows as Json[])}<//>
        ${entitlements && html`<${Fact} name="Your plan">${sayRoom(entitlements, rows)}<//>`}
        <${Fact} name="Tried">${sayTried(known, id)}<//>
      </dl>
      <${StartForm} importId=${id} sources=${reads} dryRun=${false} target=${target} isHindered=${isHindered} onStarted=${onStarted} />
    </section>
  `
}

const Fact = ({name, children}: {name: string; children?: Markup}) => html`<div><dt>${name}</dt><dd>${children}</dd></div>`

type HindrancesProps = {id: string; connection: Standing['connection']; running: string | undefined}

const Hindrances = ({id, connection, running}: HindrancesProps) => {
  const link = html`<a class="button" href=${to('connections')}>Go to the connections</a>`
  if (running)
    return html`<${Notice} title="A run of this import is under way" actions=${html`<a class="button" href=${to('imports', id, 'run', {run: running})}>Watch it</a>`}>Wait for it, or cancel it, before you start another.<//>`
  if (!connection)
    return html`<${Notice} kind="warning" title="The connection is gone" actions=${link}>Rows cannot be written without it.<//>`
  if (connection.state !== 'connected')
    return html`<${Notice} kind="warning" title=${`${connection.name} is not connected`} actions=${link}>Connect the CRM again, then start the run.<//>`
  if (connection.writesPaused)
    return html`<${Notice} kind="warning" title="Writes on this connection are paused" actions=${link}>An administrator lifts the pause. A dry run works meanwhile.<//>`
  return null
}

const ones: Record<string, string> = {update: 'it is updated', skip: 'it is left as it is', create: 'another is made'}
const manys: Record<string, string> = {ask: 'you are asked', skip: 'the row is skipped', first: 'the oldest is taken'}

const sayMatches = (flows: Json[]) => {
  const said = new Set(
    flows.map(({match}) =>
      match
        ? `by ${match.by.join(' and ')}: ${ones[match.onOne] ?? match.onOne}; where several match, ${manys[match.onMany] ?? match.onMany}`
        : 'nothing is looked for: every row makes a new record',
    ),
  )
  return [...said].join(' · ')
}

const sayRoom = ({limits, usage: {rows, periodEnd}, overageEnabled}: NonNullable<Standing['entitlements']>, wanted: number): Markup => {
  const room = `${plural(rows.remaining, 'row')} left until ${onDay(periodEnd)}, ${count(limits.rowsPerRun)} at most in one run`
  const isShort = wanted > Math.min(rows.remaining, limits.rowsPerRun)
  if (!isShort) return room
  return html`${room}. <strong>That is fewer than this import has</strong>${overageEnabled ? ': rows beyond it are billed one by one.' : html`: write fewer, or <a href=${to('settings', 'plan')}>look at your plan</a>.`}`
}

const sayTried = (known: Known, id: string): Markup => {
  const tried = runsOf(known).find(({dryRun, endedAt}) => dryRun && endedAt !== null)
  if (!tried) return html`Not yet. <a href=${to('imports', id, 'try')}>Try it first</a>: nothing is written by that.`
  return html`${onDay(tried.endedAt)}. <a href=${to('imports', id, 'try', {run: tried.id})}>See what it would do</a>`
}

const readStanding = async (connectorId: string, signal: AbortSignal): Promise<Standing> => {
  const [list, entitlements] = await Promise.all([
    client.get<Json>(inOrg('/connectors'), {}, signal),
    client.get<Standing['entitlements']>('/entitlements/me', {}, signal).catch(() => null),
  ])
  return {connection: list.connectors.find(({id}: Json) => id === connectorId) ?? null, entitlements}
}
