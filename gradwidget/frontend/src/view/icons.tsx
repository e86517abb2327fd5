import type { ComponentChildren } from "preact";

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg class="gw-icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      {children}
    </svg>
  );
}

export const MinusIcon = () => (
  <Icon>
    <path d="M3.5 8H12.5" />
  </Icon>
);

export const PlusIcon = () => (
  <Icon>
    <path d="M3.5 8H12.5M8 3.5V12.5" />
  </Icon>
);

export const CloseIcon = () => (
  <Icon>
    <path d="M4 4L12 12M12 4L4 12" />
  </Icon>
);

export const FitIcon = () => (
  <Icon>
    <path d="M2.5 6V2.5H6M10 2.5H13.5V6M13.5 10V13.5H10M6 13.5H2.5V10" />
  </Icon>
);

export const RightIcon = () => (
  <Icon>
    <path d="M2.5 8H13M9 4L13 8L9 12" />
  </Icon>
);

export const DownIcon = () => (
  <Icon>
    <path d="M8 2.5V13M4 9L8 13L12 9" />
  </Icon>
);

export const StartIcon = () => (
  <Icon>
    <path d="M3.5 3.5V12.5" />
    <path class="gw-solid" d="M12.5 4V12L6 8Z" />
  </Icon>
);

export const StepBackIcon = () => (
  <Icon>
    <path class="gw-solid" d="M11 4V12L4.5 8Z" />
  </Icon>
);

export const PlayIcon = () => (
  <Icon>
    <path class="gw-solid" d="M5 3V13L13 8Z" />
  </Icon>
);

export const PauseIcon = () => (
  <Icon>
    <path class="gw-solid" d="M4.5 3.5H6.5V12.5H4.5ZM9.5 3.5H11.5V12.5H9.5Z" />
  </Icon>
);

export const StepIcon = () => (
  <Icon>
    <path class="gw-solid" d="M5 4V12L11.5 8Z" />
  </Icon>
);

export const EndIcon = () => (
  <Icon>
    <path d="M12.5 3.5V12.5" />
    <path class="gw-solid" d="M3.5 4V12L10 8Z" />
  </Icon>
);

export const ProbeIcon = () => (
  <Icon>
    <path d="M13 4H6.5A3.5 3.5 0 0 0 6.5 11H12M9.5 8.5L12 11L9.5 13.5" />
  </Icon>
);

/** Points to the right; turned by its button. */
export const ChevronIcon = () => (
  <Icon>
    <path d="M6 3.5L10.5 8L6 12.5" />
  </Icon>
);

export const SaveIcon = () => (
  <Icon>
    <path d="M8 2.5V10M5 7.2L8 10.2L11 7.2M2.5 12.8H13.5" />
  </Icon>
);

export const SearchIcon = () => (
  <Icon>
    <path d="M11 11L14 14M7 12A5 5 0 1 1 7 2A5 5 0 0 1 7 12Z" />
  </Icon>
);
