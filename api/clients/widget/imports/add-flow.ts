import {useEffect, useState} from 'preact/hooks'
import {usualMappings} from '../../column-mapping.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/mapping.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {type Field, type Module, nameOfModule} from './fields.ts'
import {newFlowId} from './flows.ts'
import type {Flow, Imported, Source} from './import.ts'
import type {FieldsOf} from './module-data.ts'
import {useSuggestedModule} from './suggest-module.ts'

type Props = {
  found: Imported
  source: Source
  flows: Flow[]
  modules: Module[]
  allFields: FieldsOf
  add: (flow: Flow) => void
  onCancel?: () => void
}

/**
 * A form to add a flow of a file into a module. A module that fits the file is suggested. The first flow of an import is added at once if a
 * module is suggested. A subform can be chosen only if a flow writes its parent records.
 */
export const AddFlow = ({found, source, flows, modules, allFields, add, onCancel}: Props) => {
  const [chosen, setTarget] = useState<string | null>(null)
  const suggested = useSuggestedModule(found, source, modules)
  const target = chosen ?? suggested.data ?? ''
  const targets = targetsFor(modules, flows, allFields)
  const make = useDoing(async () => {
    const to = targets.find(({value}) => value === target)
    if (to) add(await makeFlow(found, {source, flows, to}))
  })
  const isFirst = flows.length === 0 && found.flows.length === 0 && chosen === null
  useEffect(() => {
    if (isFirst && suggested.data) make.run()
  }, [suggested.data])
  if (isFirst && (suggested.isLoading || suggested.data) && !make.error)
    return html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span> ${t.matchingTheColumns}</p>`
  return html`
    <form
      class="sheet add-flow"
      onSubmit=${(event: Event) => {
        event.preventDefault()
        make.run()
      }}
    >
      <h2>${flows.length === 0 ? t.whereShouldTheRowsGo : t.importFileInto(source.label)}</h2>
      <${Select} label=${t.importInto} value=${target} options=${[{value: '', label: t.chooseAModule}, ...targets]} onChange=${setTarget} />
      <${Problem} error=${make.error} />
      <div class="actions">
        <${Button} kind=${flows.length === 0 ? 'main' : 'plain'} type="submit" isBusy=${make.isBusy} disabled=${!target}>${t.addDestination}<//>
        ${onCancel && html`<${Button} onClick=${onCancel}>${t.cancel}<//>`}
      </div>
    </form>
  `
}

type MakeFlowInput = {source: Source; flows: Flow[]; to: TargetOption}

const makeFlow = async ({connectorId}: Imported, {source, flows, to: {module, subform}}: MakeFlowInput): Promise<Flow> => {
  const {fields, module: known} = await client.get(inOrg(`/config/fields/${encodeURIComponent(module)}`), {connector: connectorId})
  const columns = source.columns.map(({name}) => name)
  const isSame = subform && flows.find(({id}) => id === subform.parentFlow)?.sourceId === source.id
  return {
    id: newFlowId(flows, module),
    sourceId: source.id,
    module,
    fields: usualMappings(fields as Field[], columns, known.seedMappings),
    ...(subform && {subform: {...subform, ...(!isSame && {key: {parentColumn: '', childColumn: ''}})}}),
  }
}

type TargetOption = {value: string; label: string; group: string; module: string; subform?: NonNullable<Flow['subform']>}

/** Returns the modules into which rows can be imported, as options. Leaves out disabled modules and subforms. */
export const modulesToChoose = (modules: Module[]): {value: string; label: string}[] =>
  targetsFor(modules, [], new Map()).map(({value, label}) => ({value, label}))

const targetsFor = (modules: Module[], flows: Flow[], allFields: FieldsOf): TargetOption[] => {
  const own = modules.filter(({kind, creatable, enabled}) => kind !== 'subform' && creatable && enabled !== false)
  const option = (module: Module) => ({
    value: module.apiName,
    label: nameOfModule(module),
    module: module.apiName,
    group: !own.some(({enabled}) => enabled) ? t.modules : module.enabled ? t.enabledModules : t.otherModules,
  })
  const lines = flows
    .filter(({subform}) => !subform)
    .flatMap(flow =>
      (allFields.get(flow.module) ?? []).flatMap(field => {
        if (!field.subform) return []
        const subform = {field: field.apiName, child: field.subform.module, parentFlow: flow.id}
        return [
          {
            value: `${flow.id} ${field.apiName}`,
            label: t.fileInFlow(field.label, flow.id),
            group: t.subforms,
            module: field.subform.module,
            subform,
          },
        ]
      }),
    )
  return [...own.map(option).toSorted((a, b) => a.group.localeCompare(b.group) || a.label.localeCompare(b.label)), ...lines]
}
