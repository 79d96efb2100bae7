export type { Act, LeakReport } from './acts.ts'
export { showLeak } from './show.ts'
export { isAsClaimed, renderLeak } from './terminal.ts'
export { createTheatre, type Theatre, type TheatreOptions } from './theatre.ts'
