import {writeFile} from 'node:fs/promises'
import type {Command} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {EXIT} from '../cli/exit-codes.ts'
import {Failure, usage} from '../cli/failure.ts'
import {findConnection, findImportId, findTemplate} from '../cli/find.ts'
import {readJsonFile} from '../cli/inputs.ts'
import {clean, plural} from '../cli/phrases.ts'
import type {Cli} from '../cli/session.ts'
import {formatJson} from '../cli/stable-json.ts'
import {wrapLines} from '../cli/wrap.ts'
import {type Json, readPages} from '../http.ts'

export default (cli: Cli, program: Command) => {
  const templates = program
    .command('templates')
    .summary('list, show, check, export and import templates')
    .description('A template holds the columns, mappings and reader options of an import, without its files.')
    .addHelpText(
      'after',
      '\nExamples:\n  lading templates\n  lading templates show Leads\n  lading templates export Leads -o leads.json\n\nNext: lading import FILE --template NAME',
    )
    .action(() => list(cli))
  templates
    .command('list')
    .summary('list templates')
    .action(() => list(cli))
  templates
    .command('show')
    .summary('show the files and flows of a template')
    .argument('<template>', 'name or id')
    .action((named: string) => show(cli, named))
  templates
    .command('check')
    .summary('check a template against the CRM')
    .description('Compares a template with the modules and fields of the CRM. Exits with 8 if something would stop an import.')
    .argument('<template>', 'name or id')
    .option('-c, --connection <name>', 'connection to compare with, for a template without one')
    .addHelpText('after', '\nExample, in CI every night:\n  lading discover && lading templates check Leads')
    .action((named: string, options: {connection?: string}) => check(cli, named, options.connection))
  templates
    .command('export')
    .summary('print a template as JSON')
    .argument('<template>', 'name or id')
    .option('-o, --output <file>', 'write to this file')
    .action((named: string, options: {output?: string}) => exportOne(cli, named, options.output))
  templates
    .command('import')
    .summary('create a template from JSON, or replace the one with its name')
    .argument('<file>', 'a file written by export')
    .option('--share', 'share it with the org')
    .action((file: string, options: {share?: boolean}) => importOne(cli, file, Boolean(options.share)))
  templates
    .command('save')
    .summary('save an import as a template')
    .argument('<import>', 'id or name of the import')
    .argument('<name>', 'name of the template')
    .action((fromImport: string, name: string) => save(cli, fromImport, name))
  templates
    .command('contract')
    .summary('print, learn or replace the data contract of a template')
    .argument('<template>', 'name or id')
    .option('-l, --learn', 'propose a contract from the last ten accepted files')
    .option('-o, --output <file>', 'write to this file')
    .option('--set <file>', 'replace the contract with the one in this file')
    .action((named: string, options: ContractOptions) => contract(cli, named, options))
  templates
    .command('delete')
    .summary('delete a template')
    .argument('<template>', 'name or id')
    .action((named: string) => remove(cli, named))
  addExamples(templates, EXAMPLES)
}

const EXAMPLES = {
  list: 'list --json | jq -r ".templates[].name"',
  show: 'show Leads',
  export: 'export Leads -o leads.json',
  import: 'import leads.json --share',
  save: 'save imp_01k9… "Leads of the month"',
  contract: 'contract Leads --learn -o contract.json',
  delete: 'delete tpl_01k9…',
}

const list = async ({out, open}: Cli) => {
  const {client, path} = await open()
  const templates = await Array.fromAsync(readPages(client, path('templates'), 'templates', {limit: 200}))
  const rows = templates.map(({id, name, version, shared, createdBy, updatedAt}: Json) => [
    id,
    name,
    version,
    shared ? 'shared' : 'private',
    createdBy ?? '',
    out.time(updatedAt),
  ])
  const heads = [
    {head: 'ID', keep: true},
    {head: 'NAME'},
    {head: 'VERSION', right: true},
    {head: 'SHARED'},
    {head: 'CREATED BY'},
    {head: 'CHANGED'},
  ]
  out.answer({templates}, () =>
    rows.length ? out.table(heads, rows) : 'There are no templates yet. Save an import as a template: lading templates save IMPORT NAME',
  )
}

const show = async ({out, open}: Cli, named: string) => {
  const {template} = await findTemplate(await open(), named)
  const files = template.sources.flatMap(({slot, label, columns}: Json) => [`  ${slot}  ${clean(label)}: ${clean(columns.join(', '))}`])
  const flows = template.flows.flatMap(({id, sourceId, module, match, fields}: Json) => [
    `  ${id}  ${sourceId} -> ${module}${match ? `, matched by ${match.by.join(' + ')} (one: ${match.onOne}, many: ${match.onMany})` : ', always created'}`,
    ...fields.map(
      ({field, mode, source, staticValue, transform}: Json) =>
        `      ${field} = ${clean(transform ?? (mode === 'static' ? JSON.stringify(staticValue) : (source ?? mode)))}`,
    ),
  ])
  out.answer({template}, [
    `${out.style('bold', clean(template.name))}  ${template.id}, version ${template.version}, ${template.shared ? 'shared' : 'private'}`,
    ...(template.description ? [clean(template.description)] : []),
    ...(template.verify !== 'off' ? [`Verifies: ${template.verify}`] : []),
    'Files:',
    ...files,
    'Flows:',
    ...flows,
  ])
}

const check = async ({out, open}: Cli, named: string, connection: string | undefined) => {
  const session = await open()
  const {template} = await findTemplate(session, named)
  const connector = connection === undefined ? undefined : (await findConnection(session, connection)).id
  const checked = await session.client.get(session.path(`templates/${template.id}/check`), {connector})
  const rows = checked.problems.map(({stops, kind, module, field, message}: Json) => [
    stops ? 'stops' : 'note',
    kind,
    module ?? '',
    field ?? '',
    message,
  ])
  const heads = [{head: 'EFFECT'}, {head: 'KIND'}, {head: 'MODULE'}, {head: 'FIELD'}, {head: 'MESSAGE'}]
  const lines = ({stops, kind, module, field, message}: Json) => [
    `${out.style(stops ? 'red' : 'yellow', stops ? 'stops' : 'note')}  ${clean([module, field].filter(part => part).join('.') || kind)}`,
    wrapLines(`  ${clean(message)}`, out.width()),
  ]
  out.answer(checked, () => {
    if (rows.length === 0) return `${clean(template.name)} fits the CRM (read ${out.time(checked.discovery.createdAt)})`
    return out.isTerminal ? checked.problems.flatMap(lines) : out.table(heads, rows)
  })
  const stopping = checked.problems.filter(({stops}: Json) => stops).length
  if (stopping > 0)
    throw new Failure(`${plural(stopping, 'problem')} would stop imports with ${clean(template.name)}`, {
      exit: EXIT.different,
      code: 'DOES_NOT_FIT',
      next: 'Fix the template in the browser, or export, edit and import it: lading templates export NAME -o FILE',
    })
}

/** Returns the template document in the form that `import` accepts. */
const documentOf = ({name, description, connectorId, sources, flows, verify}: Json) => ({
  name,
  description,
  connectorId,
  sources,
  flows,
  verify,
})

const exportOne = async ({out, open}: Cli, named: string, output: string | undefined) => {
  const document = documentOf((await findTemplate(await open(), named)).template)
  if (output === undefined) return void out.out.write(formatJson(document))
  await writeFile(output, formatJson(document))
  out.answer({file: output}, `Wrote ${output}`)
}

const importOne = async ({out, open}: Cli, file: string, share: boolean) => {
  const document = await readJsonFile(file)
  const session = await open()
  const {client, path} = session
  const all = await Array.fromAsync(readPages(client, path('templates'), 'templates', {limit: 200}))
  const named = all.filter(({name, mayEdit}) => name === document.name && mayEdit)
  const shared = named.filter(one => one.shared)
  const [before, another] = share && shared.length > 0 ? shared : named
  if (another)
    throw usage(
      `Several templates are named ${clean(document.name)}`,
      'Add --share to replace the shared one, or rename or delete the others. lading templates lists them',
    )
  const written = before
    ? await client.put(path(`templates/${before.id}`), document, {'if-match': `"${before.version}"`})
    : await client.post(path('templates'), document)
  const isShared = share && !written.template.shared
  const {template} = isShared ? await client.post(path(`templates/${written.template.id}/share`), {shared: true}) : written
  out.answer({template}, [
    `${before ? 'Replaced' : 'Created'} ${clean(template.name)}: ${template.id}, version ${template.version}`,
    `Next: lading templates check ${template.id}`,
  ])
}

type ContractOptions = {learn?: boolean; output?: string; set?: string}

const contract = async ({out, open}: Cli, named: string, {learn, output, set}: ContractOptions) => {
  const session = await open()
  const {template} = await findTemplate(session, named)
  const at = session.path(`templates/${template.id}/contract`)
  if (set !== undefined) {
    const {contract: stored} = await session.client.put(at, {sources: (await readJsonFile(set)).sources})
    return out.answer({contract: stored}, `The contract of ${clean(template.name)} has version ${stored.version}`)
  }
  const {contract: found} = await session.client.get(learn ? `${at}/proposal` : at)
  const document = {sources: found.sources}
  if (output === undefined) return void out.out.write(formatJson(document))
  await writeFile(output, formatJson(document))
  out.answer({file: output}, `Wrote ${output}`)
}

const save = async ({out, open}: Cli, fromImport: string, name: string) => {
  const session = await open()
  const from = await findImportId(session, fromImport)
  const {template, leftOut = []} = await session.client.post(session.path('templates'), {fromImport: from, name})
  out.answer({template, leftOut}, [
    `Created ${clean(template.name)}: ${template.id}`,
    ...leftOut.map((what: string) => `  left out: ${clean(what)}`),
  ])
}

const remove = async ({out, open}: Cli, named: string) => {
  const session = await open()
  const {template, etag} = await findTemplate(session, named)
  await session.client.delete(session.path(`templates/${template.id}`), {'if-match': etag})
  out.answer({removed: template.id}, `Deleted ${clean(template.name)}`)
}
