import type {Field} from './fields.ts'
import type {Module} from './modules.ts'
import {namedId, type Org} from './org.ts'
import type {LayoutSpec} from './schema.ts'

/**
 * A layout of a module. `spec`: null for the layout Standard, which has every used field. A module has the layout Standard unless its spec
 * excludes it.
 */
export type Layout = {id: string; name: string; status: 'active' | 'inactive'; spec: LayoutSpec | null}

export const listLayouts = (org: Org, {name, spec}: Module): Layout[] => [
  ...(spec.standardLayout === false ? [] : [{id: namedId(org, `layout ${name}`), name: 'Standard', status: 'active' as const, spec: null}]),
  ...(spec.layouts ?? []).map(
    (layout): Layout => ({
      id: namedId(org, `layout ${name} ${layout.name}`),
      name: layout.name,
      status: layout.status ?? 'active',
      spec: layout,
    }),
  ),
]

/** Finds the layout that a record names, as `{id}` or as the bare id. */
export const findLayout = (org: Org, module: Module, value: unknown): Layout | undefined => {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : value
  return listLayouts(org, module).find(layout => layout.id === id)
}

export const isOnLayout = ({spec}: Layout, field: Field): boolean => !field.spec.unused && !spec?.without?.includes(field.name)

/** Whether the layout requires the field. A create must set it only if it names the layout. A creating bulk job must always map it. */
export const isRequiredBy = (layout: Layout, field: Field): boolean =>
  isOnLayout(layout, field) &&
  (layout.spec === null ? Boolean(field.spec.layoutRequired) : Boolean(layout.spec.required?.includes(field.name)))
