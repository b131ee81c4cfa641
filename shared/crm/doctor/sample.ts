import type {Json} from '../metadata.ts'
import type {ProbeContext, Sample} from './probe.ts'

const preferred = ['Leads', 'Contacts', 'Accounts', 'Deals']
const modulesTried = 6

export const findSample = async ({ask, select, modules}: Omit<ProbeContext, 'sample'>): Promise<Sample | null> => {
  const known = modules.filter(isRecordModule).map(({api_name}) => String(api_name))
  const inOrder = [...preferred.filter(name => known.includes(name)), ...known.filter(name => !preferred.includes(name))]
  for (const module of inOrder.slice(0, modulesTried)) {
    const id = (await select(`select id from ${module} where id is not null limit 0, 1`)).rows[0]?.id
    const record = typeof id === 'string' ? (await ask({path: `/crm/v8/${module}/${id}`})).rows[0] : undefined
    if (typeof id !== 'string' || !record) continue
    const fields = (await ask({path: '/crm/v8/settings/fields', query: {module}})).rows
    return {module, record: {...record, id}, fields, textField: findTextField(fields, record)}
  }
  return null
}

export const isRecordModule = ({generated_type, api_supported}: Json) =>
  ['default', 'custom'].includes(String(generated_type)) && api_supported === true

const findTextField = (fields: Json[], record: Json): string | null => {
  const isPlain = ({api_name, data_type, crypt}: Json) =>
    data_type === 'text' && !crypt && /^[\p{L}\p{N} .-]{2,60}$/u.test(String(record[String(api_name)] ?? ''))
  const found = fields.find(isPlain)
  return found ? String(found.api_name) : null
}
