/** `npm run mutate [-- --list | --only ID]`: takes each fence, check and fill away in turn; a seed or a test must fail for each. */
import { prepare } from './prepare.js'

prepare('test')
const { main } = await import('../tools/mutate/main.js')
process.exit(await main(process.argv.slice(2)))
