import type {Json} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {useFieldLabels} from '../imports/module-data.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {count, onDay, plural} from '../ui/format.ts'
import {Notice} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {readByFlows, runsOf} from './choose.ts'
import {expectRows} from './expected-rows.ts'
import {findRepeatingFlows, sayModules} from './new-run.ts'
import {isUnderWay} from './run.ts'
import {StartForm} from './start-form.ts'
import {writtenOf} from './tally.ts'

type StartState = {
  connection: {name: string; state: string; writesPaused: boolean; crmUserName?: string} | null
  entitlements: {
    limits: {rowsPerRun: number}
    usage: {rows: {limit: number; used: number; reserved: number; remaining: number}; periodEnd: string}
    overageEnabled: boolean
  } | null
}
type StartProps = {id: string; known: LoadedImport; isWaiting: boolean; onStarted: (run: string) => void}

/** Shows what prevents a run, and the form that starts it. */
export const ReviewStart = ({id, known: loadedImport, isWaiting, onStarted}: StartProps) => {
  const standing = useLoad<StartState>(signal => readStanding(loadedImport.import.connectorId, signal), [loadedImport.import.connectorId])
  return html`<${Shown} of=${standing}>${(data: StartState) => html`<${StartSheet} id=${id} known=${loadedImport} standing=${data} isWaiting=${isWaiting} onStarted=${onStarted} />`}<//>`
}

const StartSheet = ({
  id,
  known: loadedImport,
  standing: {connection, entitlements},
  isWaiting,
  onStarted,
}: StartProps & {standing: StartState}) => {
  const {flows, connectorId} = loadedImport.import
  const sayField = useFieldLabels(
    connectorId,
    flows.map(({module}) => module),
  )
  const reads = readByFlows(loadedImport)
  const rows = reads.reduce((sum, {rows, struck}) => sum + rows - struck, 0)
  const running = runsOf(loadedImport).find(run => isUnderWay(run) && !run.dryRun)
  const isHindered = !connection || connection.writesPaused || connection.state !== 'connected' || running !== undefined
  const warning = sayRepeats(loadedImport)
  return html`
    <${Hindrances} id=${id} connection=${connection} running=${running?.id} />
    ${warning && html`<${Notice} kind="warning" title="This run would create records a second time" actions=${html`<a class="button" href=${to('imports', id, 'match')}>Match existing records</a>`}>${warning}<//>`}
    <p class="quiet">${sayMatches(flows as Json[], sayField)}${entitlements && html` · ${sayRoom(entitlements, rows)}`}</p>
    <${StartForm} importId=${id} sources=${reads} isHindered=${isHindered || isWaiting} warning=${warning} expected=${expectRows(loadedImport, rows)} onStarted=${onStarted} />
  `
}

type HindrancesProps = {id: string; connection: StartState['connection']; running: string | undefined}

const Hindrances = ({id, connection, running}: HindrancesProps) => {
  const link = html`<a class="button" href=${to('connections')}>Go to connections</a>`
  if (running)
    return html`<${Notice} title="A run of this import is active" actions=${html`<a class="button" href=${to('imports', id, 'run', {run: running})}>View run</a>`}>Wait for it, or cancel it, before you start another.<//>`
  if (!connection)
    return html`<${Notice} kind="warning" title="The connection was deleted" actions=${link}>Rows cannot be written without it.<//>`
  if (connection.state !== 'connected')
    return html`<${Notice} kind="warning" title=${`${connection.name} is not connected`} actions=${link}>Connect the CRM again, then start the run.<//>`
  if (connection.writesPaused)
    return html`<${Notice} kind="warning" title="Writing is paused" actions=${link}>Ask an admin to resume writing on this connection. You can do a dry run.<//>`
  return null
}

/** Says that a new run would create the records of an earlier run again. Null if it would not. */
const sayRepeats = (loadedImport: LoadedImport): string | null => {
  const written = runsOf(loadedImport).reduce((sum, run) => sum + (run.dryRun ? 0 : writtenOf(run)), 0)
  const repeating = findRepeatingFlows(loadedImport.import)
  if (written === 0 || repeating.length === 0) return null
  return `Earlier runs wrote ${plural(written, 'row')}, and rows of ${sayModules(repeating)} do not find their records. Match existing records first, or retry the last run.`
}

const ones: Record<string, string> = {update: 'update it', skip: 'skip the row', create: 'create another record'}
const manys: Record<string, string> = {ask: 'ask', skip: 'skip the row', first: 'use the oldest'}

const sayMatches = (flows: Json[], sayField: (module: string, field: string) => string) => {
  const said = new Set(
    flows.map(({module, match}) =>
      match
        ? `Matched by ${match.by.map((field: string) => sayField(module, field)).join(' and ')}: ${ones[match.onOne] ?? match.onOne}; if several match, ${manys[match.onMany] ?? match.onMany}`
        : 'Not matched: every row creates a record',
    ),
  )
  return [...said].join(' · ')
}

const sayRoom = ({limits, usage: {rows, periodEnd}, overageEnabled}: NonNullable<StartState['entitlements']>, wanted: number): Markup => {
  const room = `${plural(rows.remaining, 'row')} left until ${onDay(periodEnd)}, at most ${count(limits.rowsPerRun)} per run`
  const isShort = wanted > Math.min(rows.remaining, limits.rowsPerRun)
  if (!isShort) return room
  return html`${room}. <strong>This import has more rows</strong>${overageEnabled ? '. Additional rows are billed per row.' : html`. Import fewer rows, or <a href=${to('settings', 'plan')}>change your plan</a>.`}`
}

const readStanding = async (connectorId: string, signal: AbortSignal): Promise<StartState> => {
  const [list, entitlements] = await Promise.all([
    client.get<Json>(inOrg('/connectors'), {}, signal),
    client.get<StartState['entitlements']>('/entitlements/me', {}, signal).catch(() => null),
  ])
  return {connection: list.connectors.find(({id}: Json) => id === connectorId) ?? null, entitlements}
}
