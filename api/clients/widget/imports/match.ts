import {useEffect, useRef} from 'preact/hooks'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {go, place, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {t} from '../text/mapping.ts'
import {Notice} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Tabs} from '../ui/tabs.ts'
import {AddFlow} from './add-flow.ts'
import type {Module} from './fields.ts'
import {FlowEditor} from './flow-editor.ts'
import {issuesAt, linkedModules, placeFlow} from './flows.ts'
import {ImportFrame} from './frame.ts'
import type {Flow, Imported, Source} from './import.ts'
import type {LoadedImport} from './known.ts'
import {type Draft, useDraft} from './mapping-draft.ts'
import {MatchBar} from './match-bar.ts'
import {MatchFiles} from './match-files.ts'
import {type FieldsOf, useFields, useModules} from './module-data.ts'
import {chooseOpenSheet, OpenSheetCard, SourceTabs} from './sheet-tabs.ts'
import {SourceCard} from './source-card.ts'

export const Match = ({params: {id}}: PageProps) => html`
  <${ImportFrame} id=${id} step="match" lead=${t.chooseWhereEachColumnGoesNothingIs}>
    ${(loadedImport: LoadedImport) => html`<${MatchOf} key=${id} known=${loadedImport} />`}
  <//>
`

const MatchOf = ({known: loadedImport}: {known: LoadedImport}) => {
  const {import: found, again} = loadedImport
  const draft = useDraft(loadedImport)
  const modules = useModules(found.connectorId)
  const own = useFields(
    found.connectorId,
    draft.flows.map(({module}) => module),
  )
  const linked = linkedModules(draft.flows, own.data)
  const fields = useFields(found.connectorId, [...draft.flows.map(({module}) => module), ...linked])
  const source = chooseSource(found, draft.flows)
  const sheet = chooseOpenSheet(found)
  return html`
    ${found.state === 'running' && html`<${Notice}>${t.aRunIsUsingThisImportYou}<//>`}
    <${MatchFiles} known=${loadedImport} />
    ${
      source &&
      html`
      <${SourceTabs} found=${found} flows=${draft.flows} here=${sheet ?? source} />
      ${sheet && html`<${OpenSheetCard} key=${sheet.name} found=${found} sheet=${sheet} again=${again} />`}
    `
    }
    ${
      source &&
      !sheet &&
      html`
      <${SourceCard} key=${source.id} found=${found} source=${source} again=${again} />
      <${Shown} of=${modules}>
        ${(list: Module[]) => html`<${Shown} of=${fields}>${(allFields: FieldsOf) => html`<${Destinations} known=${loadedImport} draft=${draft} modules=${list} allFields=${allFields} source=${source} />`}<//>`}
      <//>
    `
    }
  `
}

/**
 * Returns the file that the URL names, directly or by a flow. If the URL names none, returns the first file that a flow reads, or else the first
 * file.
 */
const chooseSource = ({sources}: Imported, flows: Flow[]): Source | undefined => {
  const {query} = place.value
  const wanted = query.get('source') ?? flows.find(({id}) => id === query.get('flow'))?.sourceId
  return sources.find(({id}) => id === wanted) ?? sources.find(({id}) => flows.some(({sourceId}) => sourceId === id)) ?? sources[0]
}

type DestinationsProps = {known: LoadedImport; draft: Draft; modules: Module[]; allFields: FieldsOf; source: Source}

/** The flows of one file. The first flow of an import is added automatically if a module fits the file. */
const Destinations = ({known: {import: found, again}, draft, modules, allFields, source}: DestinationsProps) => {
  const {flows} = draft
  const wanted = place.value.query.get('flow')
  // A flow whose file was deleted is listed with every file, so that the person can choose another file for it.
  const listed = flows.filter(({sourceId}) => sourceId === source.id || !found.sources.some(({id}) => id === sourceId))
  const isAdding = listed.length === 0 || wanted === ' new'
  const here = listed.find(({id}) => id === wanted) ?? listed[0]
  const address = (flow: string) => to('imports', found.id, 'match', {source: source.id, flow})
  const latest = useRef(draft)
  latest.current = draft
  const add = (flow: Flow) => {
    latest.current.set(placeFlow(latest.current.flows, flow, modules))
    go(address(flow.id), {replace: true})
  }
  const heading = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (wanted === ' new') heading.current?.scrollIntoView()
  }, [wanted])
  const label = (flow: Flow) => {
    const wrong = issuesAt(draft.issues, flows.indexOf(flow)).length
    return wrong > 0 ? `${flow.id} (${wrong})` : flow.id
  }
  const tabs = [
    ...listed.map(flow => ({href: address(flow.id), label: label(flow), isHere: !isAdding && flow === here})),
    {href: address(' new'), label: t.plusAddDestination, isHere: isAdding},
  ]
  return html`
    <div ref=${heading}>${listed.length > 0 && html`<${Tabs} label=${t.destinations} tabs=${tabs} />`}</div>
    <fieldset class="bare" disabled=${!may('operator')}>${
      isAdding
        ? html`<${AddFlow} key=${source.id} found=${found} source=${source} flows=${flows} modules=${modules} allFields=${allFields} add=${add} ...${listed.length > 0 ? {onCancel: () => go(address(listed[0]!.id))} : {}} />`
        : html`<${FlowEditor} key=${here!.id} found=${found} draft=${draft} at=${flows.indexOf(here!)} modules=${modules} allFields=${allFields} again=${again} />`
    }</fieldset>
    ${flows.length > 0 && html`<${MatchBar} found=${found} draft=${draft} modules=${modules} />`}
  `
}
