import type {Command} from 'commander'
import {type MapInput, mapFile} from '../cli/map-file.ts'
import type {Cli} from '../cli/session.ts'
import {existingOption, matchOption} from './import.ts'

export default (cli: Cli, program: Command) => {
  program
    .command('map')
    .summary('match the columns of a file with a module')
    .description('Prints a flow for lading import --flow. The file is uploaded to be read, and deleted again. Nothing is imported.')
    .argument('<file>', 'a CSV, XLSX, ODS or JSON file, - for standard input')
    .option('-m, --module <name>', 'module to import into: API name or label')
    .addOption(matchOption())
    .addOption(existingOption())
    .option('-y, --yes', 'accept the recommended match without asking')
    .option('-c, --connection <name>', 'connection to write to, if there are several: name or id')
    .option('--encoding <name>', 'the encoding of a CSV file, such as windows-1252, shift_jis or gb18030')
    .option('--accept-bad-bytes', 'import bytes that are not in the encoding as \ufffd')
    .addHelpText('after', MAP_HELP)
    .action(async (file: string, options: Omit<MapInput, 'file'>) => {
      const flow = await mapFile(cli, await cli.open(), {...options, file})
      cli.out.answer(flow, JSON.stringify(flow, null, 2))
    })
}

const MAP_HELP = `
Examples:
  lading map leads.csv --module Leads --match Email > flow.json
  lading import leads.csv --flow flow.json --watch

Next: complete flow.json, then lading import FILE --flow flow.json`
