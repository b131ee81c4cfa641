import {useState} from 'preact/hooks'
import {usualMappings} from '../../column-mapping.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {type Field, type Module, nameOfModule} from './fields.ts'
import {newFlowId} from './flows.ts'
import type {Flow, Imported} from './import.ts'
import type {FieldsOf} from './module-data.ts'

type Props = {found: Imported; flows: Flow[]; modules: Module[]; allFields: FieldsOf; add: (flow: Flow) => void; onCancel?: () => void}

/** A form to add a flow: a file and a module. Subform rows can be added only to the flow of their parent records. */
export const AddFlow = ({found, flows, modules, allFields, add, onCancel}: Props) => {
  const [sourceId, setSource] = useState(
    found.sources.find(({id}) => !flows.some(flow => flow.sourceId === id))?.id ?? found.sources[0]?.id ?? '',
  )
  const [target, setTarget] = useState('')
  const source = found.sources.find(({id}) => id === sourceId)
  const targets = targetsFor(modules, flows, allFields)
  const make = useDoing(async () => {
    const chosen = targets.find(({value}) => value === target)!
    const {fields} = await client.get(inOrg(`/config/fields/${encodeURIComponent(chosen.module)}`), {connector: found.connectorId})
    const columns = source!.columns.map(({name}) => name)
    const isSame = chosen.subform && flows.find(({id}) => id === chosen.subform!.parentFlow)?.sourceId === sourceId
    add({
      id: newFlowId(flows, chosen.module),
      sourceId,
      module: chosen.module,
      fields: usualMappings(fields as Field[], columns),
      ...(chosen.subform && {subform: {...chosen.subform, ...(!isSame && {key: {parentColumn: '', childColumn: ''}})}}),
    })
  })
  return html`
    <form
      class="sheet add-flow"
      onSubmit=${(event: Event) => {
        event.preventDefault()
        if (target) make.run()
      }}
    >
      <h2>${flows.length === 0 ? 'Where should the rows go?' : 'Add another flow'}</h2>
      <div class="columns">
        <${Select} label="File" value=${sourceId} options=${found.sources.map(({id, label}) => ({value: id, label}))} onChange=${setSource} />
        <${Select} label="Module" value=${target} options=${[{value: '', label: 'Choose a module …'}, ...targets]} onChange=${setTarget} />
      </div>
      <${Problem} error=${make.error} />
      <div class="actions">
        <${Button} kind="main" type="submit" isBusy=${make.isBusy} disabled=${!target || !source}>Add flow<//>
        ${onCancel && html`<${Button} onClick=${onCancel}>Cancel<//>`}
      </div>
    </form>
  `
}

type TargetOption = {value: string; label: string; group: string; module: string; subform?: NonNullable<Flow['subform']>}

const targetsFor = (modules: Module[], flows: Flow[], allFields: FieldsOf): TargetOption[] => {
  const own = modules.filter(({kind, creatable, enabled}) => kind !== 'subform' && creatable && enabled !== false)
  const option = (module: Module) => ({
    value: module.apiName,
    label: nameOfModule(module),
    module: module.apiName,
    group: !own.some(({enabled}) => enabled) ? 'Modules' : module.enabled ? 'Enabled modules' : 'Other modules',
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
            label: `${field.label} of ${flow.id}`,
            group: 'Subforms',
            module: field.subform.module,
            subform,
          },
        ]
      }),
    )
  return [...own.map(option).toSorted((a, b) => a.group.localeCompare(b.group) || a.label.localeCompare(b.label)), ...lines]
}
