import {mkdir, rm, writeFile} from 'node:fs/promises'
import {dirname} from 'node:path'
import {type Config, readConfig} from '../shared/config.ts'
import {switchOf} from './maintenance.ts'

/** Every API process of this storage folder sees it within a second. */
export const switchMaintenance = async (config: Pick<Config, 'STORAGE_DIR'>, to: 'on' | 'off'): Promise<void> => {
  const path = switchOf(config)
  if (to === 'off') return rm(path, {force: true})
  await mkdir(dirname(path), {recursive: true})
  await writeFile(path, '')
}

/** `node api/maintenance-switch.ts on|off` */
const main = async ([to]: string[]) => {
  if (to !== 'on' && to !== 'off') throw new Error('Say `on` or `off`')
  const config = readConfig()
  await switchMaintenance(config, to)
  const held = to === 'off' && config.MAINTENANCE ? ', but MAINTENANCE in the environment keeps it on' : ''
  process.stdout.write(`Maintenance is switched ${to}${held}\n`)
}

if (import.meta.main) await main(process.argv.slice(2))
