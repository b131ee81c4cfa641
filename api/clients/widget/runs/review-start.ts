import type {Json} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {useFieldLabels} from '../imports/module-data.ts'
import {type EmbedSession, embed} from '../state/embed.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {listWords} from '../text/language.ts'
import {count, onDay} from '../ui/format.ts'
import {Notice} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {readByFlows, runsOf} from './choose.ts'
import {DeleteForm} from './delete-form.ts'
import {expectRows} from './expected-rows.ts'
import {findRepeatingFlows, sayModules} from './new-run.ts'
import {isUnderWay} from './run.ts'
import {excessOf} from './start.ts'
import {StartForm} from './start-form.ts'
import {writtenBy} from './tally.ts'

type StartState = {
  connection: {name: string; state: string; writesPaused: boolean; crmUserName?: string} | null
  entitlements: {
    limits: {rowsPerRun: number}
    usage: {rows: {limit: number; used: number; reserved: number; remaining: number}; periodEnd: string}
    overageEnabled: boolean
  } | null
}
type StartProps = {id: string; known: LoadedImport; isWaiting: boolean; onStarted: (run: string) => void}

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
    ${warning && html`<${Notice} kind="warning" title=${t.thisRunWouldCreateRecordsASecond} actions=${html`<a class="button" href=${to('imports', id, 'match')}>${t.matchExistingRecords}</a>`}>${warning}<//>`}
    <p class="quiet">${sayMatches(flows as Json[], sayField)}${entitlements && html` · ${sayRoom(entitlements, rows)}`}</p>
    ${flows.some(({action}) => action === 'delete') ? html`<${DeleteForm} importId=${id} runs=${runsOf(loadedImport)} isHindered=${isHindered || isWaiting} again=${loadedImport.again} onStarted=${onStarted} />` : html`<${StartForm} importId=${id} templateId=${loadedImport.import.templateId} sources=${reads} isHindered=${isHindered || isWaiting} warning=${warning} expected=${expectRows(loadedImport, rows)} mayUseJobs=${!embed.value && flows.some(({automations, subform}) => automations === true && !subform)} onStarted=${onStarted} />`}
  `
}

type HindrancesProps = {id: string; connection: StartState['connection']; running: string | undefined}

const Hindrances = ({id, connection, running}: HindrancesProps) => {
  const link = embed.value ? null : html`<a class="button" href=${to('connections')}>${t.goToConnections}</a>`
  if (running)
    return html`<${Notice} title=${t.aRunOfThisImportIsActive} actions=${html`<a class="button" href=${to('imports', id, 'run', {run: running})}>${t.viewRun}</a>`}>${t.waitForItOrCancelItBefore}<//>`
  if (!connection)
    return html`<${Notice} kind="warning" title=${t.theConnectionWasDeleted} actions=${link}>${t.rowsCannotBeWrittenWithoutIt}<//>`
  if (connection.state !== 'connected')
    return html`<${Notice} kind="warning" title=${t.isNotConnected(connection.name)} actions=${link}>${t.connectTheCrmAgainThenStartThe}<//>`
  if (connection.writesPaused)
    return html`<${Notice} kind="warning" title=${t.writingIsPaused} actions=${link}>${t.askAnAdminToResumeWritingOn}<//>`
  return null
}

/** Warns that a new run would create records of earlier runs again. Null if no run wrote rows, or if `findRepeatingFlows` returns no flow. */
const sayRepeats = (loadedImport: LoadedImport): string | null => {
  const written = writtenBy(runsOf(loadedImport))
  const repeating = findRepeatingFlows(loadedImport.import)
  if (written === 0 || repeating.length === 0) return null
  return t.earlierRunsWroteRowsAndRowsOf(written, sayModules(repeating))
}

const ones: Record<string, string> = {update: t.updateIt, skip: t.skipTheRow, create: t.createAnotherRecord}
const manys: Record<string, string> = {ask: t.ask, skip: t.skipTheRow, first: t.useTheOldest}

const sayMatches = (flows: Json[], sayField: (module: string, field: string) => string) => {
  const said = new Set(
    flows.map(({module, match, action}) => {
      const by = match ? listWords(match.by.map((field: string) => sayField(module, field))) : ''
      if (action === 'delete') return t.deletesTheRecordThatMatchesBy(by)
      return match
        ? t.matchedByIfSeveralMatch(by, ones[match.onOne] ?? match.onOne, manys[match.onMany] ?? match.onMany)
        : t.notMatchedEveryRowCreatesARecord
    }),
  )
  return [...said].join(' · ')
}

const sayRoom = (entitlements: NonNullable<StartState['entitlements']>, wanted: number): Markup => {
  const {rows, periodEnd} = entitlements.usage
  const room = t.rowsLeftUntilAtMostPerRun(rows.remaining, onDay(periodEnd), count(entitlements.limits.rowsPerRun))
  const {isCut, isBilled} = excessOf(entitlements, wanted)
  if (!isCut && !isBilled) return room
  return html`${room}. <strong>${t.thisImportHasMoreRows}</strong>${isCut ? html`${t.importFewerRowsOr} <a href=${to('settings', 'plan')}>${t.changeYourPlan}</a>.` : '.'}${isBilled && ` ${t.additionalRowsAreBilled}`}`
}

const readStanding = async (connectorId: string, signal: AbortSignal): Promise<StartState> => {
  if (embed.value) return {connection: (await client.get<EmbedSession>('/auth/embed', {}, signal)).connection, entitlements: null}
  const [list, entitlements] = await Promise.all([
    client.get<Json>(inOrg('/connectors'), {}, signal),
    client.get<StartState['entitlements']>('/entitlements/me', {}, signal).catch(() => null),
  ])
  return {connection: list.connectors.find(({id}: Json) => id === connectorId) ?? null, entitlements}
}
