import {type Answer, CallRefused, nothing, ok, refuse} from './answers.ts'
import {type Call, isId} from './call.ts'
import {describeField, describeOnLayout} from './field-description.ts'
import {isOnLayout, type Layout, listLayouts as layoutsOf} from './layouts.ts'
import type {Module} from './modules.ts'
import {namedId, type Org} from './org.ts'
import {profileId} from './profiles.ts'

const statuses = ['visible', 'user_hidden', 'system_hidden', 'scheduled_for_deletion']

export const listModules = (call: Call): Answer => {
  const asked = (call.query.get('status') ?? '').split(',').filter(Boolean)
  asked.forEach((status, index) => {
    if (statuses.includes(status)) return
    throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'status', index, supported_values: statuses}))
  })
  const found = [...call.org.modules.values()].filter(module => asked.length === 0 || asked.includes(statusOf(module)))
  return found.length === 0 ? nothing() : ok({modules: found.map(module => describeModule(call.org, module))})
}

export const readModule = (call: Call): Answer => {
  const module = findModule(call.org, call.segments[2]!)
  if (!module) throw new CallRefused(refuse(400, 'INVALID_MODULE', {resource_path_index: 2}))
  return ok({modules: [{...describeModule(call.org, module), ...singleModule(call.org, module)}]})
}

export const listFields = (call: Call): Answer => {
  const module = moduleAsked(call)
  const type = call.query.get('type') ?? 'all'
  if (!['all', 'used', 'unused'].includes(type)) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'type'}))
  const found = [...module.fields.values()].filter(field => type === 'all' || Boolean(field.spec.unused) === (type === 'unused'))
  return found.length === 0 ? nothing() : ok({fields: found.map(field => describeField(call.org, module, field))})
}

export const readField = (call: Call): Answer => {
  const module = moduleAsked(call)
  const asked = call.segments[2]!
  const field = [...module.fields.values()].find(one => one.id === asked || one.name === asked)
  if (!field) throw new CallRefused(refuse(400, 'INVALID_DATA', {resource_path_index: 2}, 'the id given seems to be invalid'))
  return ok({fields: [describeField(call.org, module, field)]})
}

export const listLayouts = (call: Call): Answer => {
  const module = moduleAsked(call)
  return ok({layouts: layoutsOf(call.org, module).map(layout => describeLayout(call.org, module, layout))})
}

export const readLayout = (call: Call): Answer => {
  const module = moduleAsked(call)
  const id = call.segments[2]!
  if (!isId(id)) throw new CallRefused(refuse(400, 'PATTERN_NOT_MATCHED', {resource_path_index: 2}))
  const layout = layoutsOf(call.org, module).find(one => one.id === id)
  return layout ? ok({layouts: [describeLayout(call.org, module, layout)]}) : nothing()
}

export const describeModule = (org: Org, module: Module) => {
  const {spec} = module
  const isRows = spec.kind === 'subform' || spec.kind === 'linking'
  const plural = spec.plural ?? spec.name.replaceAll('_', ' ')
  const singular = spec.singular ?? plural
  const parent = spec.parent === undefined ? undefined : org.modules.get(spec.parent)
  return {
    ...unchanging,
    id: module.id,
    api_name: spec.name,
    module_name: spec.name,
    singular_label: singular,
    plural_label: plural,
    actual_singular_label: singular,
    actual_plural_label: plural,
    generated_type: spec.kind ?? 'default',
    api_supported: spec.apiSupported ?? true,
    creatable: spec.creatable ?? true,
    editable: spec.editable ?? true,
    deletable: spec.deletable ?? true,
    viewable: true,
    visible: statusOf(module) === 'visible',
    visibility: statusOf(module) === 'visible' ? 1 : 0,
    show_as_tab: statusOf(module) === 'visible' && !isRows,
    status: statusOf(module),
    sequence_number: module.position,
    quick_create: !isRows,
    convertable: spec.convertable ?? false,
    parent_module: parent ? {api_name: parent.name, id: parent.id} : {},
    profiles: isRows ? [] : profiles(org),
    profile_count: isRows ? 0 : 2,
    display_field: displayField(org, module),
  }
}

const unchanging = {
  global_search_supported: true,
  public_fields_configured: false,
  recycle_bin_on_delete: true,
  has_more_profiles: false,
  sub_menu_available: true,
  lookupable: true,
  cc_enabled: false,
  description: null,
  inventory_template_supported: false,
  modified_time: null,
  presence_sub_menu: false,
  triggers_supported: true,
  isBlueprintSupported: true,
  emailTemplate_support: false,
  email_parser_supported: false,
  filter_supported: true,
  web_link: null,
  feeds_required: false,
  scoring_supported: false,
  webform_supported: false,
  arguments: [],
  business_card_field_limit: 5,
  access_type: 'org_based',
  track_current_data: false,
  modified_by: null,
}

const singleModule = (org: Org, module: Module) => ({
  source: 'crm',
  per_page: 10,
  $properties: null,
  $on_demand_properties: [],
  $field_states: [],
  search_layout_fields: module.naming ? [module.naming.name] : [],
  business_card_fields: [],
  kanban_view: false,
  kanban_view_supported: false,
  chart_view: false,
  chart_view_supported: true,
  filter_status: true,
  related_lists: [],
  related_list_properties: null,
  lookup_field_properties: null,
  layouts: layoutsOf(org, module).map(layout => ({...layoutHead(layout), convert_mapping: {}, profiles: []})),
})

/** Returns the display field as an object, a string or null, as the switch `displayField` says; API versions differ. */
const displayField = (org: Org, module: Module) => {
  const {naming} = module
  if (!naming || org.switches.displayField === 'null') return null
  return org.switches.displayField === 'string' ? naming.name : {api_name: naming.name, id: naming.id}
}

const layoutHead = ({id, name, status, spec}: Layout) => ({
  has_more_profiles: false,
  created_time: null,
  modified_time: null,
  visible: true,
  source: 'crm',
  id,
  name,
  api_name: name.replaceAll(' ', '_'),
  display_label: name,
  status,
  show_business_card: true,
  generated_type: spec ? 'custom' : 'system',
  created_for: null,
  convert_mapping: null,
  modified_by: null,
  created_by: null,
  profiles: null,
  actions_allowed: {edit: true, rename: true, clone: true, downgrade: false, delete: true, deactivate: true, set_layout_permissions: true},
})

const describeLayout = (org: Org, module: Module, layout: Layout) => {
  const fields = [...module.fields.values()].filter(field => isOnLayout(layout, field))
  return {
    ...layoutHead(layout),
    sections: [
      {
        display_label: `${module.spec.singular ?? module.name} Information`,
        name: `${module.spec.singular ?? module.name} Information`,
        api_name: 'Information',
        sequence_number: 1,
        column_count: 2,
        tab_traversal: 'left_to_right',
        isSubformSection: false,
        generated_type: 'default',
        mode: 'all',
        id: namedId(org, layout.spec ? `section ${module.name} ${layout.name}` : `section ${module.name}`),
        properties: null,
        actions_allowed: {
          add_field: true,
          rename: true,
          change_tab_traversal: true,
          reorder: true,
          delete: true,
          remove_field: true,
          change_column_count: true,
        },
        fields: fields.map((field, index) => describeOnLayout(org, module, field, {layout, position: index + 1})),
      },
    ],
  }
}

const profiles = (org: Org) => [...org.profiles.keys()].map(name => ({name, id: profileId(org, name)}))
const statusOf = (module: Module) => module.spec.status ?? 'visible'
const findModule = (org: Org, asked: string) => org.modules.get(asked) ?? [...org.modules.values()].find(module => module.id === asked)

const moduleAsked = (call: Call): Module => {
  const asked = call.query.get('module')
  if (!asked) throw new CallRefused(refuse(400, 'REQUIRED_PARAM_MISSING', {param_name: 'module'}))
  const module = findModule(call.org, asked)
  if (!module) throw new CallRefused(refuse(400, 'INVALID_MODULE', {}))
  return module
}
