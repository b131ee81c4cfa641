import {playScenario} from './scenario.ts'
import {printMatrix} from './table.ts'
const mod: any = await import(process.argv[2]!)
const scenario: any = Object.values(mod).find((one: any) => one?.row)
const played = await playScenario(scenario, {seed: 1, seeds: 1, rows: 3000}, 380)
for (const line of played.says) console.error(line)
console.log(printMatrix([played]))
process.exit(0)
