import {type Command, Help} from 'commander'
import {exitCodes} from '../cli/exit-codes.ts'
import {usage} from '../cli/failure.ts'
import type {Cli} from '../cli/session.ts'

export default (_: Cli, program: Command) => void program.command('help').summary('explain a command or a topic')
