import {type ParseArgsConfig, parseArgs} from 'node:util'

/** Reads the options of a program. With `--help`, or with an unknown or wrong option, prints the usage and exits. */
export const readOptions = <T extends NonNullable<ParseArgsConfig['options']>>(usage: string, options: T) => {
  if (process.argv.includes('--help')) {
    console.log(usage)
    process.exit(0)
  }
  try {
    return parseArgs({options}).values
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    process.exit(2)
  }
}
