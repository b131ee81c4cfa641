import type {Group} from '../../run-reasons.ts'
import {html} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {embed} from '../state/embed.ts'
import {place, to} from '../state/place.ts'
import {t} from '../text/decide.ts'
import {count} from '../ui/format.ts'
import {Tabs} from '../ui/tabs.ts'
import {Download} from './downloads.ts'
import {EmptyLinks, EveryRow, UnmappedValues} from './outcomes.ts'
import {type ReasonQuery, Reasons} from './reasons.ts'
import {ReviewRows} from './review-rows.ts'
import {countTab, REVIEW_TABS, type ReviewTab, tabOf, tabOfGroup} from './review-tabs.ts'
import {filterIn, sourceWith} from './rows-query.ts'
import type {Run} from './run.ts'
import type {Tally} from './use-tally.ts'

type Props = {known: LoadedImport; run: Run; tally: Tally}

export const ReviewPlan = ({known: loadedImport, run, tally}: Props) => {
  const {import: found} = loadedImport
  if (run.expiredAt) return html`<p class="quiet">${t.theRowsOfThisPreviewWereDeleted}</p>`
  const {query} = place.value
  const tab = tabOf(query)
  const named = query.get('run') ?? undefined
  const filter = {...REVIEW_TABS[tab].filter, ...filterIn(query)}
  const file = query.get('source') ?? sourceWith(tally.groups, filter) ?? tally.sources[0]?.id
  const tabs = (Object.keys(REVIEW_TABS) as ReviewTab[])
    .map(name => ({name, rows: countTab(name, tally.groups)}))
    .filter(({name, rows}) => rows > 0 || ['all', 'ready', 'errors'].includes(name))
    .map(({name, rows}) => ({
      href: to('imports', found.id, 'review', {tab: name, run: named}),
      label: html`${REVIEW_TABS[name].label} <span class="quiet">${count(name === 'all' ? (run.progress?.total ?? rows) : rows)}</span>`,
      isHere: name === tab,
    }))
  const files = tally.sources.map(({id, label}) => ({
    href: to('imports', found.id, 'review', {tab, source: id, run: named}),
    label,
    isHere: id === file,
  }))
  const linkTo = (group: Group, reason: ReasonQuery) =>
    to('imports', found.id, 'review', {tab: tabOfGroup(group), source: group.source, run: named, ...reason})
  return html`
    <section aria-label=${t.rows}>
      <${Tabs} label=${t.rowsByResult} tabs=${tabs} />
      ${files.length > 1 && html`<${Tabs} label=${t.files} tabs=${files} />`}
      <${EmptyLinks} run=${run} found=${found} />
      ${tab === 'errors' && html`<${Reasons} tally=${tally} run=${run} linkTo=${linkTo} />`}
      <${UnmappedValues} run=${run} found=${found} />
      ${file && html`<${ReviewRows} key=${JSON.stringify([run.id, tab, file, filter])} known=${loadedImport} run=${run} tab=${tab} filter=${filter} sourceId=${file} />`}
      <${EveryRow} run=${run} />
      ${!embed.value && html`<div class="row"><${Download} found=${found} run=${run} kind="plan" source=${tally.sources.length > 1 ? tally.sources.find(({id}) => id === file) : undefined}>${t.downloadPlanCsv}<//></div>`}
    </section>
  `
}
